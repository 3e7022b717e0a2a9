package client

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"tickdisk/players/internal/report"
	"tickdisk/players/internal/udp"
)

const (
	readPause  = 100 * time.Millisecond
	openReply2 = 0x08 // This is RakNet's last message before a connection is open. Datagrams of a connection have the highest bit set.
)

// socket counts the traffic of a UDP socket, and keeps errors from gophertunnel, which repeats a failed read at once and panics
// after a failed write.
type socket struct {
	*net.UDPConn
	done            chan struct{}
	packetsSent     atomic.Int64
	packetsReceived atomic.Int64
	bytesSent       atomic.Int64
	bytesReceived   atomic.Int64
}

func openSocket(address string) (*socket, error) {
	connected, err := udp.Dial(address)
	if err != nil {
		return nil, err
	}
	return &socket{UDPConn: connected, done: make(chan struct{})}, nil
}

// Read reads a datagram. It fails only after a pause, unless the socket is closed.
func (s *socket) Read(buffer []byte) (int, error) {
	size, err := s.UDPConn.Read(buffer)
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			select {
			case <-time.After(readPause):
			case <-s.done:
			}
		}
		return size, err
	}
	s.packetsReceived.Add(1)
	s.bytesReceived.Add(int64(size))
	if size > 0 && buffer[0] == openReply2 {
		time.Sleep(answerPause)
	}
	return size, nil
}

// Write sends a datagram. A datagram that the kernel does not take counts as lost, and RakNet repeats it.
func (s *socket) Write(datagram []byte) (int, error) {
	s.packetsSent.Add(1)
	s.bytesSent.Add(int64(len(datagram)))
	_, _ = s.UDPConn.Write(datagram)
	return len(datagram), nil
}

// counts returns the traffic. RakNet does not tell how many datagrams it has repeated, or has received twice.
func (s *socket) counts() report.Network {
	counts := report.Network{
		PacketsSent: s.packetsSent.Load(), PacketsReceived: s.packetsReceived.Load(),
		BytesSent: s.bytesSent.Load(), BytesReceived: s.bytesReceived.Load(),
	}
	if dropped, err := udp.Dropped(s.UDPConn); err == nil { // The kernel has had this count since Linux 4.12.
		counts.PacketsDropped = dropped
	}
	return counts
}
