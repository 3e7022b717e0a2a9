package play

import (
	"context"
	"sync"
	"time"

	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// Config has the parameters of all players, which do not depend on the driver.
type Config struct {
	Address string
	StartNS int64 // CLOCK_MONOTONIC at the trace's zero
	Timeout time.Duration
}

// Result has the observations of the players that are not in their records.
type Result struct {
	Players      int
	Lags         []report.LagSample // a sample for every timer of the client's own schedule
	Network      report.Network
	FirstRefusal string
}

// Run plays the trace and returns when every action has its record. It ends at once if the context is cancelled.
func Run(interrupted context.Context, driver Driver, config Config, actions []trace.Action, records *report.Recorder) Result {
	queues := map[string][]trace.Action{}
	var names []string
	for _, action := range actions {
		if _, known := queues[action.Player]; !known {
			names = append(names, action.Player)
		}
		queues[action.Player] = append(queues[action.Player], action)
	}
	s := &session{
		driver: driver, traits: driver.Traits(), config: config, records: records,
		present: map[string]struct{}{}, leaving: map[string]chan int64{}, finished: make(chan struct{}),
	}
	s.playing.Add(len(names))
	players := make([]*player, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		// The position updates of all players are spread evenly over the period.
		offset := int64(i) * s.traits.UpdatePeriod.Nanoseconds() / int64(len(names))
		players[i] = newPlayer(s, name, queues[name], offset)
		running.Add(1)
		go func() {
			defer running.Done()
			players[i].run(interrupted)
		}()
	}
	go func() {
		s.playing.Wait()
		close(s.finished)
	}()
	running.Wait()
	result := Result{Players: len(names)}
	for _, p := range players {
		result.Lags = append(result.Lags, p.lags...)
		result.Network.Add(p.counts)
		if result.FirstRefusal == "" {
			result.FirstRefusal = p.firstRefusal
		}
	}
	return result
}

// The players of a process share this state. It says who is in the game, so that players who stay can observe that others leave.
type session struct {
	driver   Driver
	traits   Traits
	config   Config
	records  *report.Recorder
	playing  sync.WaitGroup // players with actions left
	finished chan struct{}  // closed when no player has actions left
	mutex    sync.Mutex
	present  map[string]struct{}
	leaving  map[string]chan int64
}

func (s *session) entered(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.present[name] = struct{}{}
}

// leaves takes a player out of the game. The channel receives the time at which another player learns from the server that this
// player has gone.
func (s *session) leaves(name string) <-chan int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.present, name)
	seen := make(chan int64, 1)
	s.leaving[name] = seen
	return seen
}

// forget takes out a player whose connection has ended.
func (s *session) forget(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.present, name)
	delete(s.leaving, name)
}

// observers returns the number of players that are in the game.
func (s *session) observers() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.present)
}

// announced passes on that the server has told another player that this player has gone.
func (s *session) announced(name string, atNS int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if seen, waiting := s.leaving[name]; waiting {
		delete(s.leaving, name)
		seen <- atNS
	}
}
