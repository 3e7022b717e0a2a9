package serve

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/df-mc/dragonfly/server/world"

	"tickdisk/dragonfly/internal/record"
)

const (
	threadName = "world\x00" // What captures call the thread that ticks.
	setName    = 15          // PR_SET_NAME of prctl.
)

// ticks records the ticks of the overworld. It is only used on that world's goroutine.
type ticks struct {
	record  *record.Writer
	players func() int
	thread  int
}

// begin ties the world's goroutine to its thread. Go may otherwise continue a goroutine on another thread after any wait, and a capture
// could not tell which waits of the process are those of a tick.
func (t *ticks) begin(players func() int) {
	runtime.LockOSThread()
	name := []byte(threadName)
	syscall.RawSyscall(syscall.SYS_PRCTL, setName, uintptr(unsafe.Pointer(&name[0])), 0)
	t.players, t.thread = players, syscall.Gettid()
}

// run is called in place of a tick. The nether and the end tick too, on goroutines of their own, because Dragonfly cannot run without them.
func (t *ticks) run(tx *world.Tx, tick func(*world.Tx)) {
	if tx.World().Dimension() != world.Overworld || t.thread == 0 {
		tick(tx)
		return
	}
	start := record.Now()
	tick(tx)
	t.record.Tick(start, record.Now(), t.players(), t.thread)
}
