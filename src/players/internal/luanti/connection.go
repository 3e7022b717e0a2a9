package luanti

import (
	"fmt"
	"net"
	"sync/atomic"

	"tickdisk/players/internal/monotonic"
)

// The kernel holds what arrives while the process waits for a CPU; a join brings hundreds of packets at once.
const socketBufferBytes = 4 << 20

type packet struct {
	data       []byte
	receivedNS int64
}

// connection is a transport on a socket. Everything but the reading of the socket happens in the player's goroutine.
type connection struct {
	*transport
	socket   *net.UDPConn
	incoming chan packet
	done     chan struct{}
	refused  atomic.Bool // the machine answered that nothing listens there
}

func dial(address string, deliver func([]byte)) (*connection, error) {
	remote, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("%s is not an address: %w", address, err)
	}
	socket, err := net.DialUDP("udp", nil, remote)
	if err != nil {
		return nil, fmt.Errorf("no socket to %s: %w", address, err)
	}
	if err := socket.SetReadBuffer(socketBufferBytes); err != nil {
		socket.Close()
		return nil, fmt.Errorf("no receive buffer for the socket to %s: %w", address, err)
	}
	c := &connection{socket: socket, incoming: make(chan packet, 256), done: make(chan struct{})}
	// A datagram that the kernel does not take counts as lost: the transport repeats what matters.
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
