// Package luanti drives players of a Luanti server (5.6.1, protocol 41) from a trace, each over a connection of its own.
//
// Open loop: when an action is due is the trace's business. Each player runs its actions strictly one after another.
package luanti

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// Config is what the players need to know beside their trace.
type Config struct {
	Address     string
	StartNS     int64 // CLOCK_MONOTONIC of the trace's zero
	Radius      Radius
	RangeBlocks int // how far, in blocks, the server is asked to send terrain
	Timeout     time.Duration
}

// Check returns an error when the server could never complete a join or a teleport under this configuration.
func (c Config) Check() error {
	if c.Radius.Horizontal < 0 || c.Radius.Vertical < 0 || max(c.Radius.Horizontal, c.Radius.Vertical) > farthestRadius {
		return fmt.Errorf("the radius must be 0 to %d blocks, not %d and %d: the server leaves out farther blocks of air", farthestRadius,
			c.Radius.Horizontal, c.Radius.Vertical)
	}
	if least := c.Radius.leastRange(); c.RangeBlocks < least || c.RangeBlocks > 255 {
		return fmt.Errorf("the wanted range must be %d to 255 blocks, not %d: the server sends nothing beyond it", least, c.RangeBlocks)
	}
	return nil
}

// Completion says in words when each action counts as completed.
func (c Config) Completion() string {
	return fmt.Sprintf("join and teleport: all %d map blocks within %d (horizontally) and %d (vertically) of the player's block have "+
		"arrived; place and dig: the server's update of the node or of its block shows the change; ping and marker: the server's answer; walk: "+
		"the first position update is sent; leave: the server has announced it to the players that stay",
		c.Radius.Blocks(), c.Radius.Horizontal, c.Radius.Vertical)
}

// Result is what the players saw beside their records.
type Result struct {
	Players      int
	Lags         []report.LagSample // one for every timer of the client's own schedule
	Network      report.Network
	FirstRefusal string
}

// Run plays the trace and returns when every action has its record. Cancelling the context ends it at once.
func Run(interrupted context.Context, config Config, actions []trace.Action, records *report.Recorder) Result {
	queues := map[string][]trace.Action{}
	var names []string
	for _, action := range actions {
		if _, known := queues[action.Player]; !known {
			names = append(names, action.Player)
		}
		queues[action.Player] = append(queues[action.Player], action)
	}
	s := &session{
		config: config, records: records, present: map[string]struct{}{}, leaving: map[string]chan int64{}, finished: make(chan struct{}),
	}
	s.playing.Add(len(names))
	players := make([]*player, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		// Position updates of all players are spread evenly over the period.
		offset := int64(i) * positionPeriodNS / int64(len(names))
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

// session is what the players of a process share: who is in the game, so that those who stay see the others leave.
type session struct {
	config   Config
	records  *report.Recorder
	playing  sync.WaitGroup // players with actions left
	finished chan struct{}  // closed when there are none
	mutex    sync.Mutex
	present  map[string]struct{}
	leaving  map[string]chan int64
}

func (s *session) entered(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.present[name] = struct{}{}
}

// leaves takes a player out; the channel receives the time at which another player learns from the server that it has gone.
func (s *session) leaves(name string) <-chan int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.present, name)
	seen := make(chan int64, 1)
	s.leaving[name] = seen
	return seen
}

func (s *session) observers() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.present)
}

func (s *session) announced(name string, atNS int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if seen, waiting := s.leaving[name]; waiting {
		delete(s.leaving, name)
		seen <- atNS
	}
}
