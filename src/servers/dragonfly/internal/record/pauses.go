package record

import (
	"runtime/debug"
	"time"
)

// pauses finds the pauses of the garbage collector that have not been recorded yet.
type pauses struct {
	stats    debug.GCStats
	recorded int64 // collections
}

// newPauses forgets the pauses until now.
func newPauses() *pauses {
	p := &pauses{}
	debug.ReadGCStats(&p.stats)
	p.recorded = p.stats.NumGC
	return p
}

// add records the pauses since the last call. The runtime knows the end of a collection's last pause, and how long its pauses took
// together. They are recorded as one, because nearly all of that time is at the end. It keeps the last 256.
func (p *pauses) add(w *Writer) {
	debug.ReadGCStats(&p.stats)
	found := int(min(p.stats.NumGC-p.recorded, int64(len(p.stats.Pause))))
	p.recorded = p.stats.NumGC
	now, nowNS := time.Now(), Now()
	for at := found - 1; at >= 0; at-- { // The newest is the first.
		endNS := nowNS - now.Sub(p.stats.PauseEnd[at]).Nanoseconds()
		w.add("p,gc,%d,%d\n", endNS-p.stats.Pause[at].Nanoseconds(), endNS)
	}
}
