// Package client connects a player to a Java edition server, without blocking the player, and stamps packets as they arrive.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
	"tickdisk/players/java/internal/protocol"
)

const (
	bufferBytes   = 4 << 20          // of the kernel, in each direction
	silence       = 30 * time.Second // after which a connection has ended; the server sends at least every 10 s
	queuedPackets = 1024
)

// Connected arrives when packets can be sent.
type Connected struct{}

// Client is one player's connection. Arrivals are Connected, protocol.Packet, or the error with which the connection ended.
type Client struct {
	address  string
	arrivals chan play.Arrival
	open     context.Context
	cancel   context.CancelFunc

	socket          atomic.Pointer[net.TCPConn]
	packetsReceived atomic.Int64
	bytesReceived   atomic.Int64

	compression bool
	sent        report.Network
}

// Open begins to connect to an address.
func Open(address string) *Client {
	c := &Client{address: address, arrivals: make(chan play.Arrival, queuedPackets)}
	c.open, c.cancel = context.WithCancel(context.Background())
	go c.run()
	return c
}

// run connects, and reads until the connection ends.
func (c *Client) run() {
	connected, err := (&net.Dialer{Control: enlarge}).DialContext(c.open, "tcp", c.address)
	if err != nil {
		c.arrived(dialError(c.address, err), monotonic.Now())
		return
	}
	socket := connected.(*net.TCPConn) // Go turns Nagle's algorithm off.
	context.AfterFunc(c.open, func() { socket.Close() })
	c.socket.Store(socket)
	c.arrived(Connected{}, monotonic.Now())
	c.arrived(readError(c.read(protocol.NewReader(source{socket, c}))), monotonic.Now())
}

// read takes packets from the connection until it ends.
func (c *Client) read(reader *protocol.Reader) error {
	for {
		frame, err := reader.Next()
		if err != nil {
			return err
		}
		receivedNS := monotonic.Now()
		c.packetsReceived.Add(1)
		packet, needed, err := reader.Packet(frame)
		if err != nil {
			return err
		}
		if needed {
			c.arrived(packet, receivedNS)
		}
	}
}

func (c *Client) arrived(content any, atNS int64) {
	select {
	case c.arrivals <- play.Arrival{Content: content, ReceivedNS: atNS}:
	case <-c.open.Done():
	}
}

// enlarge sets the buffers of the kernel, which must hold what comes while the process waits for a CPU, and what is sent while the
// server does not read. Only root may exceed the system's limits. For others, the kernel adapts the buffers itself.
func enlarge(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(descriptor uintptr) {
		_ = syscall.SetsockoptInt(int(descriptor), syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, bufferBytes)
		_ = syscall.SetsockoptInt(int(descriptor), syscall.SOL_SOCKET, syscall.SO_SNDBUFFORCE, bufferBytes)
	})
}

// source reads from a socket, counts bytes, and ends when the server is silent.
type source struct {
	socket *net.TCPConn
	client *Client
}

// Read reads what is there.
func (s source) Read(buffer []byte) (int, error) {
	if err := s.socket.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	size, err := s.socket.Read(buffer)
	s.client.bytesReceived.Add(int64(size))
	return size, err
}

func dialError(address string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing listens at %s", address)
	}
	return fmt.Errorf("the player could not connect to %s: %w", address, err)
}

func readError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the server has sent nothing for %s", silence)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return errors.New("the server has closed the connection")
	default:
		return fmt.Errorf("nothing more can be received from the server: %w", err)
	}
}

// Arrivals returns the channel of what came from the server.
func (c *Client) Arrivals() <-chan play.Arrival { return c.arrivals }

// Answered returns whether the server has taken the connection.
func (c *Client) Answered() bool { return c.socket.Load() != nil }

// Compress makes Send use frames of a connection with compression.
func (c *Client) Compress() { c.compression = true }

// Send sends packets. It never waits: the queue of what the server has not read yet is the kernel's buffer, and a packet that does
// not fit into it is an error. After another error the connection has ended, and this arrives.
func (c *Client) Send(packets ...[]byte) error {
	socket := c.socket.Load()
	if socket == nil {
		return nil
	}
	var frames []byte
	for _, packet := range packets {
		frames = protocol.AppendFrame(frames, packet, c.compression)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	var size int
	closed := raw.Write(func(descriptor uintptr) bool {
		size, err = syscall.Write(int(descriptor), frames)
		return true // It is not tried again.
	})
	if closed == nil && (errors.Is(err, syscall.EAGAIN) || err == nil && size < len(frames)) {
		return errors.New("the server has not read for so long that no more can be sent to it")
	}
	c.sent.PacketsSent += int64(len(packets))
	c.sent.BytesSent += int64(len(frames))
	return nil
}

// Leave ends the player's side of the connection. The server then ends its own.
func (c *Client) Leave() {
	if socket := c.socket.Load(); socket != nil {
		_ = socket.CloseWrite()
	}
}

// Close ends the connection and returns the counts of its traffic. The kernel does not tell which packets it has repeated.
func (c *Client) Close() report.Network {
	c.cancel()
	counts := c.sent
	counts.PacketsReceived, counts.BytesReceived = c.packetsReceived.Load(), c.bytesReceived.Load()
	return counts
}
