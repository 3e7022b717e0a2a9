// Package record writes what the server did and when: one line of text for each event, whose first field is the event's kind.
// Times are in nanoseconds of CLOCK_MONOTONIC.
//
//	tickdisk_probe,2,monotonic,ns               The format's version, and the clock and unit of all times.
//	t,NUMBER,START,END,PLAYERS,ELAPSED,THREAD   A tick. ELAPSED stays empty, because Dragonfly tells a tick no duration.
//	g,AT,COUNT                                  COUNT chunks have been generated so far.
//	m,NAME,BEFORE,AFTER                         A marker: the action NAME was done between the two times.
//	s,BEGIN,END                                 A periodic save, from the call to its return.
//	p,gc,BEGIN,END                              The garbage collector stopped all goroutines for this long.
//	e,TICKS,AT,COUNT                            The server shut down in order, after TICKS ticks and COUNT generated chunks.
package record

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const flushPeriod = 400 * time.Millisecond // A reader may rely on lines that are half a second old.

// Writer writes the lines of a record. Its methods may be called from any goroutine.
type Writer struct {
	file     *os.File
	mu       sync.Mutex
	pending  []byte
	lastTick int64
	chunks   int64
	ending   chan struct{}
	ended    chan error
}

// Create opens a new record, and starts to flush it in the background.
func Create(path string) (*Writer, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("the record cannot be written: %w", err)
	}
	w := &Writer{file: file, ending: make(chan struct{}), ended: make(chan error, 1)}
	w.add("tickdisk_probe,2,monotonic,ns\n")
	go w.flush(newPauses())
	return w, nil
}

// Tick adds the next tick.
func (w *Writer) Tick(startNS, endNS int64, players, thread int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastTick++
	w.pending = fmt.Appendf(w.pending, "t,%d,%d,%d,%d,,%d\n", w.lastTick, startNS, endNS, players, thread)
}

// Generated adds a chunk that was generated because it was not stored.
func (w *Writer) Generated(atNS int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chunks++
	w.pending = fmt.Appendf(w.pending, "g,%d,%d\n", atNS, w.chunks)
}

// Marker adds an action that players asked for.
func (w *Writer) Marker(name string, beforeNS, afterNS int64) {
	w.add("m,%s,%d,%d\n", name, beforeNS, afterNS)
}

// Save adds a periodic save.
func (w *Writer) Save(beginNS, endNS int64) { w.add("s,%d,%d\n", beginNS, endNS) }

// Close adds the end of the server and closes the record. It returns the first error of any write.
func (w *Writer) Close() error {
	close(w.ending)
	if err := <-w.ended; err != nil {
		return fmt.Errorf("the record could not be written: %w", err)
	}
	return nil
}

func (w *Writer) add(format string, values ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = fmt.Appendf(w.pending, format, values...)
}

// flush writes outside the lock, so that a tick never waits for the file.
func (w *Writer) flush(paused *pauses) {
	var failed error
	var writing []byte
	for ending := false; !ending; {
		select {
		case <-time.After(flushPeriod):
		case <-w.ending:
			ending = true
		}
		paused.add(w)
		w.mu.Lock()
		if ending {
			w.pending = fmt.Appendf(w.pending, "e,%d,%d,%d\n", w.lastTick, Now(), w.chunks)
		}
		writing, w.pending = w.pending, writing[:0]
		w.mu.Unlock()
		if _, err := w.file.Write(writing); err != nil && failed == nil {
			failed = err
		}
	}
	if err := w.file.Close(); failed == nil {
		failed = err
	}
	w.ended <- failed
}
