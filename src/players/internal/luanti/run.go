// Package luanti drives players of a Luanti server (5.6.1, protocol 41) from a trace. Each player has a connection of its own.
//
// The load is open loop: the trace says when an action is due, however fast the server is. Each player runs its actions strictly
// one after another.
package luanti

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// Config has the parameters of the players that are not in their trace.
type Config struct {
	Address     string
	StartNS     int64 // CLOCK_MONOTONIC at the trace's zero
	Radius      Radius
	RangeBlocks int // distance, in blocks, up to which the server is asked to send terrain
	Timeout     time.Duration
}

// Check returns an error if the server could never complete a join or a teleport under this configuration.
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

// Completion describes when an action of each kind counts as completed.
func (c Config) Completion() string {
	return fmt.Sprintf("join and teleport: all %d map blocks within %d (horizontally) and %d (vertically) of the player's block have "+
		"arrived; place and dig: the server's update of the node or of its block shows the change; ping and marker: the server's answer; walk: "+
		"the first position update is sent; leave: the server has announced it to the players that stay",
		c.Radius.Blocks(), c.Radius.Horizontal, c.Radius.Vertical)
}

// Result has the observations of the players that are not in their records.
type Result struct {
	Players      int
	Lags         []report.LagSample // a sample for every timer of the client's own schedule
	Network      report.Network
	FirstRefusal string
}

// Run plays the trace and returns when every action has its record. It ends at once if the context is cancelled.
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
		// The position updates of all players are spread evenly over the period.
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

// The players of a process share this state. It says who is in the game, so that players who stay can observe that others leave.
type session struct {
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
