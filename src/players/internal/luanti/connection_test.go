package luanti

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// failing is a socket whose reads fail at once.
type failing struct {
	err   error
	reads chan struct{}
}

func (f failing) Read([]byte) (int, error) {
	f.reads <- struct{}{}
	return 0, f.err
}

func TestAReadErrorIsNamedAndDoesNotSpin(t *testing.T) {
	cases := map[error]string{
		&net.OpError{Op: "read", Err: syscall.ECONNREFUSED}: "nothing listens at SERVER",
		errors.New("input/output error"):                    "nothing can be received from SERVER: input/output error",
	}
	for err, says := range cases {
		t.Run(fmt.Sprint(err), func(t *testing.T) {
			source := failing{err, make(chan struct{}, 1000)}
			c := &connection{address: "SERVER", done: make(chan struct{}), transport: newTransport(0, func([]byte) {}, func([]byte) {})}
			if got := c.Progress(); got != "SERVER does not answer" {
				t.Errorf("without an error, the progress is %q", got)
			}
			ended := make(chan struct{})
			go func() {
				c.read(source)
				close(ended)
			}()
			time.Sleep(5 * readPause / 2)
			if got := c.Progress(); got != says {
				t.Errorf("the progress is %q, wanted %q", got, says)
			}
			if got := len(source.reads); got < 2 || got > 3 {
				t.Errorf("%d reads in two and a half pauses, wanted 3", got)
			}
			close(c.done)
			select {
			case <-ended:
			case <-time.After(time.Second):
				t.Error("the goroutine goes on after the connection was closed")
			}
		})
	}
}

func TestABadAddressFailsAtOnce(t *testing.T) {
	if _, err := (&Driver{}).Open("nowhere", "p0", nil); err == nil {
		t.Error("an address without a port was accepted")
	}
}
