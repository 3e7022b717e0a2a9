// Package world has functions with the names of those by which Dragonfly ticks, and late ticks whose causes are known.
package world

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	period    = 50 * time.Millisecond
	everyTick = 40
	saveTick  = 20
	burn      = 150 * time.Millisecond
)

// World runs pieces of work from its queue on one goroutine. A saver holds its lock while it waits for the disk.
type World struct {
	queue  chan transaction
	saves  chan int
	lock   sync.Mutex
	number int
}

type transaction interface{ run(w *World) }

type normalTransaction struct {
	work func(w *World)
	done chan struct{}
}

// Run does the work, and tells the one who asked for it.
//
//go:noinline
func (t *normalTransaction) Run(w *World) {
	t.work(w)
	close(t.done)
}

func (t *normalTransaction) run(w *World) { t.Run(w) }

type weakTransaction struct{ change func() }

// Run makes a change of a player.
//
//go:noinline
func (t *weakTransaction) Run(_ *World) {
	t.change()
	sync.NewCond(new(sync.Mutex)).Broadcast()
}

func (t *weakTransaction) run(w *World) { t.Run(w) }

type ticker struct{}

// tick computes for long in some ticks, and in others needs the lock that the saver has.
//
//go:noinline
func (ticker) tick(w *World) {
	w.number++
	switch w.number % everyTick {
	case 0:
		for end := time.Now().Add(burn); time.Now().Before(end); {
		}
	case saveTick:
		w.saves <- w.number
		time.Sleep(time.Millisecond)
		w.lock.Lock()
		w.lock.Unlock() //nolint:staticcheck // The lock has to be waited for, and protects nothing.
	}
}

// Run ticks twenty times a second, and saves into the folder. It does not return.
func Run(folder string) {
	w := &World{queue: make(chan transaction, 16), saves: make(chan int)}
	go w.work()
	go w.save(folder)
	go w.move()
	for range time.NewTicker(period).C {
		t := &normalTransaction{ticker{}.tick, make(chan struct{})}
		w.queue <- t
		<-t.done
	}
}

func (w *World) work() {
	for t := range w.queue {
		t.run(w)
	}
}

// move asks for a small change every few milliseconds, as players do.
func (w *World) move() {
	for range time.NewTicker(7 * time.Millisecond).C {
		w.queue <- &weakTransaction{func() {}}
	}
}

func (w *World) save(folder string) {
	for range w.saves {
		w.lock.Lock()
		file, err := os.Create(filepath.Join(folder, "saved.ldb"))
		if err != nil {
			panic(err)
		}
		if _, err = file.Write(make([]byte, 5000)); err != nil {
			panic(err)
		}
		if err = file.Sync(); err != nil {
			panic(err)
		}
		file.Close()
		w.lock.Unlock()
	}
}
