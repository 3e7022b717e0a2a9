package client

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/java/internal/protocol"
)

const patience = 5 * time.Second

// await returns the next arrival of a type.
func await[T any](t *testing.T, c *Client) T {
	t.Helper()
	select {
	case arrival := <-c.Arrivals():
		content, ok := arrival.Content.(T)
		if !ok {
			t.Fatalf("%v arrived, wanted %T", arrival.Content, content)
		}
		return content
	case <-time.After(patience):
		t.Fatal("nothing arrived")
		panic("unreachable")
	}
}

// connect returns a client and the server's end of its connection.
func connect(t *testing.T) (*Client, *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := Open(listener.Addr().String())
	t.Cleanup(func() { c.Close() })
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	accepted.SetDeadline(time.Now().Add(patience))
	await[Connected](t, c)
	return c, accepted.(*net.TCPConn)
}

func TestPacketsArriveAndLeave(t *testing.T) {
	c, server := connect(t)
	if err := c.Send([]byte("one"), []byte("three")); err != nil {
		t.Fatal(err)
	}
	c.Compress()
	if err := c.Send([]byte("two")); err != nil {
		t.Fatal(err)
	}
	received := make([]byte, 15)
	if _, err := server.Read(received); err != nil || string(received) != "\x03one\x05three\x04\x00two" {
		t.Errorf("the server received %q (%v)", received, err)
	}
	// The packet is stamped when its last byte has arrived.
	server.Write([]byte{2, 2})
	time.Sleep(10 * time.Millisecond)
	wholeNS := monotonic.Now()
	server.Write([]byte{7})
	arrival := <-c.Arrivals()
	if packet := arrival.Content.(protocol.Packet); packet.Number != protocol.LoginSuccess || packet.Content[0] != 7 {
		t.Errorf("%v arrived", packet)
	}
	if arrival.ReceivedNS < wholeNS {
		t.Error("a packet is stamped before it was whole")
	}
	c.Leave()
	if size, err := server.Read(received); size > 0 || err == nil {
		t.Errorf("after the leave, the server received %d bytes (%v)", size, err)
	}
	// The server's last packets still arrive.
	server.Write([]byte{1, 3})
	if got := await[protocol.Packet](t, c).Number; got != protocol.FinishConfiguration {
		t.Errorf("packet %#x arrived", got)
	}
	server.Close()
	if err := await[error](t, c); err.Error() != "the server has closed the connection" {
		t.Error(err)
	}
	counts := c.Close()
	if counts.PacketsSent != 3 || counts.BytesSent != 15 || counts.PacketsReceived != 2 || counts.BytesReceived != 5 {
		t.Errorf("the traffic is %+v", counts)
	}
}

func TestAServerThatDoesNotReadBlocksNothing(t *testing.T) {
	c, _ := connect(t)
	begin := time.Now()
	var err error
	for packet := make([]byte, 1<<20); err == nil && time.Since(begin) < patience; {
		err = c.Send(packet)
	}
	if err == nil || err.Error() != "the server has not read for so long that no more can be sent to it" {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the player was held up for %s", took)
	}
}

func TestNothingListens(t *testing.T) {
	c := Open("127.0.0.1:1")
	defer c.Close()
	if err := await[error](t, c); err.Error() != "nothing listens at 127.0.0.1:1" || c.Answered() {
		t.Errorf("what arrived is %v", err)
	}
	if err := c.Send([]byte("lost")); err != nil {
		t.Error(err)
	}
	c.Leave()
}

func TestAClosedClientHoldsNothing(t *testing.T) {
	c, server := connect(t)
	for range queuedPackets + 10 { // The player takes none of them.
		server.Write([]byte{1, 2})
	}
	c.Close()
	for received := make([]byte, 1); ; {
		if _, err := server.Read(received); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the socket is still open")
			}
			return
		}
	}
}

func TestWhyReadingEnds(t *testing.T) {
	broken := errors.New("a frame is broken")
	for want, cause := range map[string]error{
		"the server has sent nothing for 30s":                             &net.OpError{Err: os.ErrDeadlineExceeded},
		"the server has closed the connection":                            &net.OpError{Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		"nothing more can be received from the server: a frame is broken": broken,
	} {
		if got := readError(cause).Error(); got != want {
			t.Errorf("the reason is %q, wanted %q", got, want)
		}
	}
}
