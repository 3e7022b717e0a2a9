package udp

import (
	"net"
	"syscall"
	"testing"
)

func TestDroppedCountsWhatDidNotFit(t *testing.T) {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	socket, err := Dial(server.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if dropped, err := Dropped(socket); dropped != 0 || err != nil {
		t.Fatalf("a new socket has dropped %d datagrams (%v)", dropped, err)
	}
	if err := socket.SetReadBuffer(1); err != nil { // The kernel has a minimum of about 2 KiB, which holds no datagram of 8 KiB twice.
		t.Fatal(err)
	}
	const sent = 20
	for range sent {
		if _, err := server.WriteToUDP(make([]byte, 8192), socket.LocalAddr().(*net.UDPAddr)); err != nil {
			t.Fatal(err)
		}
	}
	// Loopback delivers in the sender's call, so every datagram is either in the buffer or dropped.
	if dropped, err := Dropped(socket); dropped < sent-2 || dropped > sent || err != nil {
		t.Errorf("%d of %d datagrams were dropped (%v)", dropped, sent, err)
	}
}

func TestTheReceiveBufferIsLarge(t *testing.T) {
	socket, err := Dial("127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	got := 0
	if err := control(socket, func(descriptor int) (err error) {
		got, err = syscall.GetsockoptInt(descriptor, syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// The kernel doubles the size, because it counts its own overhead as well.
	if least := 2 * receiveBufferBytes; force(socket) == nil && got < least {
		t.Errorf("the receive buffer has %d bytes, although the kernel allows %d", got, least)
	}
	if got < 1<<17 {
		t.Errorf("the receive buffer has %d bytes", got)
	}
}

func TestDialSaysWhatIsNoAddress(t *testing.T) {
	if _, err := Dial("nowhere"); err == nil {
		t.Error("an address without a port was accepted")
	}
}
