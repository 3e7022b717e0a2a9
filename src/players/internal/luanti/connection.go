package luanti

import (
	"fmt"
	"net"
	"sync/atomic"

	"tickdisk/players/internal/monotonic"
)

// The kernel must hold the packets that arrive while the process waits for a CPU. A join brings hundreds of packets at once.
const socketBufferBytes = 4 << 20

type packet struct {
	data       []byte
	receivedNS int64
}

// connection is a transport on a socket. The socket is read in a goroutine of its own, and everything else happens in the
// player's goroutine.
type connection struct {
	*transport
	socket   *net.UDPConn
	incoming chan packet
	done     chan struct{}
	refused  atomic.Bool // whether a read of the socket failed, as it does if nothing listens at the address
}

func dial(address string, deliver func([]byte)) (*connection, error) {
	remote, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("%s is not an address: %w", address, err)
	}
	socket, err := net.DialUDP("udp", nil, remote)
	if err != nil {
		return nil, fmt.Errorf("a socket to %s cannot be opened: %w", address, err)
	}
	if err := socket.SetReadBuffer(socketBufferBytes); err != nil {
		socket.Close()
		return nil, fmt.Errorf("the socket to %s cannot have its receive buffer: %w", address, err)
	}
	c := &connection{socket: socket, incoming: make(chan packet, 256), done: make(chan struct{})}
	// A datagram that the kernel does not take counts as lost. The transport repeats it if it is reliable.
	c.transport = newTransport(monotonic.Now(), func(data []byte) { _, _ = socket.Write(data) }, deliver)
	go c.read()
	return c, nil
}

func (c *connection) read() {
	buffer := make([]byte, 1<<16)
	for {
		size, err := c.socket.Read(buffer)
		if err != nil {
			select {
			case <-c.done:
				return
			default:
				c.refused.Store(true)
				continue
			}
		}
		select {
		case c.incoming <- packet{append([]byte(nil), buffer[:size]...), monotonic.Now()}:
		case <-c.done:
			return
		}
	}
}

func (c *connection) close() {
	close(c.done)
	c.socket.Close()
}
