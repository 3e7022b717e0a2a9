// Package udp opens the sockets of players, whose receive buffers are large, and counts the datagrams that did not fit into them.
package udp

import (
	"fmt"
	"net"
	"syscall"
	"unsafe"
)

// The kernel must hold the packets that arrive while the process waits for a CPU. A join brings hundreds of packets at once.
const receiveBufferBytes = 4 << 20

// These numbers of Linux are missing in package syscall. SO_MEMINFO fills words of 32 bits, and the ninth counts dropped datagrams.
const (
	soMemInfo     = 55
	memInfoWords  = 9
	droppedNumber = 8
)

// Dial opens a socket on which only datagrams of the address are received.
func Dial(address string) (*net.UDPConn, error) {
	remote, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("%s is not an address: %w", address, err)
	}
	socket, err := net.DialUDP("udp", nil, remote)
	if err != nil {
		return nil, fmt.Errorf("a socket to %s cannot be opened: %w", address, err)
	}
	if err := enlarge(socket); err != nil {
		socket.Close()
		return nil, fmt.Errorf("the socket to %s cannot have its receive buffer: %w", address, err)
	}
	return socket, nil
}

// enlarge sets the receive buffer. Only root may exceed the system's limit (net.core.rmem_max). For others, the kernel takes the
// size down to that limit without an error.
func enlarge(socket *net.UDPConn) error {
	if force(socket) == nil {
		return nil
	}
	return socket.SetReadBuffer(receiveBufferBytes)
}

func force(socket *net.UDPConn) error {
	return control(socket, func(descriptor int) error {
		return syscall.SetsockoptInt(descriptor, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, receiveBufferBytes)
	})
}

// Dropped returns the number of datagrams that the kernel has dropped on the socket because its receive buffer was full.
func Dropped(socket *net.UDPConn) (int64, error) {
	var words [memInfoWords]uint32
	size := uint32(unsafe.Sizeof(words))
	err := control(socket, func(descriptor int) error {
		_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(descriptor), syscall.SOL_SOCKET, soMemInfo,
			uintptr(unsafe.Pointer(&words)), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
	return int64(words[droppedNumber]), err
}

func control(socket *net.UDPConn, act func(descriptor int) error) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := raw.Control(func(descriptor uintptr) { result = act(int(descriptor)) }); err != nil {
		return err
	}
	return result
}
