package record

import (
	"fmt"
	"syscall"
	"unsafe"
)

const clockMonotonic = 1

// Now returns CLOCK_MONOTONIC in nanoseconds, which Go's time package does not offer.
func Now() int64 {
	var at syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&at)), 0); errno != 0 {
		panic(fmt.Sprintf("CLOCK_MONOTONIC cannot be read: %v", errno))
	}
	return at.Nano()
}
