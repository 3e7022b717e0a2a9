package play

import (
	"context"
	"math"
	"time"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

const leaveRepeatNS = 500e6 // A message that a player leaves may be lost, and the server does not answer it.

type state int

const (
	offline state = iota
	joining       // is connected, but the server has not yet let the player into the game
	present
	leaving
)

// pending is the action that the player is busy with.
type pending struct {
	action     trace.Action
	issuedNS   int64
	deadlineNS int64
	received   int          // pieces of terrain that arrived since the action was issued
	missing    int          // pieces that were missing when the wait for terrain began
	pieces     int          // pieces that belong to the area around the player
	moved      bool         // for a teleport: whether the server has moved the player
	node       Node         // for place, dig and look
	answer     string       // for a command: the beginning of the server's answer
	seen       *report.Seen // for a look that was answered
}

// player runs the queue of one player in one goroutine, which handles arrivals, timers and actions one at a time.
type player struct {
	session *session
	name    string
	queue   []trace.Action
	current *pending

	connection   Connection
	state        state
	reason       string // why the player is offline
	stance       Stance
	pings        int
	lastPlaced   *Node
	left         <-chan int64
	nextRepeatNS int64

	nextUpdateNS int64
	offsetNS     int64
	idleSinceNS  int64
	receivedNS   int64
	lags         []report.LagSample
	counts       report.Network
	firstRefusal string
}

func newPlayer(s *session, name string, queue []trace.Action, offsetNS int64) *player {
	return &player{session: s, name: name, queue: queue, offsetNS: offsetNS, reason: "it has not joined"}
}

func (p *player) run(interrupted context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	playing := true
	for {
		if playing && p.current == nil && len(p.queue) == 0 {
			playing = false
			p.session.playing.Done()
		}
		timer.Reset(time.Duration(p.nextWakeNS() - monotonic.Now()))
		var arrivals <-chan Arrival
		if p.connection != nil {
			arrivals = p.connection.Arrivals()
		}
		select {
		case arrival := <-arrivals:
			p.receivedNS = arrival.ReceivedNS
			p.connection.Receive(arrival)
			p.completeWait()
		case atNS := <-p.left:
			p.complete(atNS, "the server announced the leave; it saves the player within half a second, which the network does not show")
			p.hangUp("it has left")
		case <-timer.C:
		case <-interrupted.Done():
			p.abandon()
			if playing {
				p.session.playing.Done()
			}
			return
		case <-p.session.finished:
			p.sayGoodbye()
			return
		}
		p.advance(monotonic.Now())
	}
}

func (p *player) nextWakeNS() int64 {
	wake := int64(math.MaxInt64)
	if p.connection != nil {
		wake = p.nextUpdateNS
	}
	if p.current != nil {
		wake = min(wake, p.current.deadlineNS)
	} else if len(p.queue) > 0 {
		wake = min(wake, p.session.config.StartNS+p.queue[0].DueNS)
	}
	return wake
}

func (p *player) advance(nowNS int64) {
	periodNS := p.session.traits.UpdatePeriod.Nanoseconds()
	if p.connection != nil && nowNS >= p.nextUpdateNS {
		p.lags = append(p.lags, report.LagSample{ScheduledNS: p.nextUpdateNS, LagNS: nowNS - p.nextUpdateNS})
		elapsedNS := ((nowNS-p.nextUpdateNS)/periodNS + 1) * periodNS
		p.nextUpdateNS += elapsedNS
		p.update(nowNS, float64(elapsedNS)/1e9)
	}
	if p.connection != nil {
		if closed := p.connection.Closed(); closed != nil {
			p.lost(closed.Error(), nowNS)
		}
	}
	if p.current != nil && nowNS >= p.current.deadlineNS {
		p.timedOut(nowNS)
	}
	for p.current == nil && len(p.queue) > 0 {
		dueNS := p.session.config.StartNS + p.queue[0].DueNS
		if nowNS < dueNS {
			return
		}
		if p.idleSinceNS <= dueNS {
			p.lags = append(p.lags, report.LagSample{ScheduledNS: dueNS, LagNS: nowNS - dueNS})
		}
		action := p.queue[0]
		p.queue = p.queue[1:]
		p.issue(action, nowNS)
		nowNS = monotonic.Now()
	}
}

// update does the work of one update period, at fixed times, while the player is connected.
func (p *player) update(nowNS int64, elapsedS float64) {
	p.connection.Advance(nowNS)
	switch p.state {
	case present:
		switch {
		case p.waiting():
			p.connection.Stand(p.stance, nowNS)
		case p.current != nil && p.current.action.Kind == trace.Teleport:
			// No update is sent until the server has moved the player, because an update from the old place would move it back.
		default:
			for axis, part := range p.stance.Position {
				p.stance.Position[axis] = max(-trace.MapLimit, min(trace.MapLimit, part+p.stance.Velocity[axis]*elapsedS))
			}
			p.connection.Move(p.stance, nowNS)
		}
	case leaving:
		switch {
		case p.session.observers() == 0:
			p.complete(p.current.issuedNS, "the leave was sent; no other player of this process was in the game to see the server announce it")
			p.hangUp("it has left")
		case nowNS >= p.nextRepeatNS:
			p.nextRepeatNS = nowNS + leaveRepeatNS
			p.connection.Leave(nowNS)
		}
	}
}

// waiting returns whether the player stands still and waits for the terrain around it.
func (p *player) waiting() bool {
	return p.state == present && p.current != nil &&
		(p.current.action.Kind == trace.Join || p.current.action.Kind == trace.Teleport && p.current.moved)
}

func (p *player) hangUp(reason string) {
	p.counts.Add(p.connection.Close())
	p.session.forget(p.name)
	p.connection, p.state, p.reason, p.left = nil, offline, reason, nil
}

// lost ends a connection that the server has closed, or on which the server was silent for too long.
func (p *player) lost(reason string, nowNS int64) {
	p.counts.ConnectionErrors++
	if p.firstRefusal == "" {
		p.firstRefusal = p.name + ": " + reason
	}
	if p.current != nil {
		p.fail(nowNS, reason)
	}
	p.hangUp(reason)
}

// sayGoodbye disconnects a player that has no more actions.
func (p *player) sayGoodbye() {
	if p.connection != nil {
		p.connection.Leave(monotonic.Now())
		p.hangUp("it has left")
	}
}

// abandon writes a record for every action that is left, and disconnects the player.
func (p *player) abandon() {
	const stopped = "the client was stopped"
	nowNS := monotonic.Now()
	if p.current != nil {
		p.fail(nowNS, "not completed: "+stopped)
	}
	for _, action := range p.queue {
		p.neverIssued(action, nowNS, stopped)
	}
	p.queue = nil
	p.sayGoodbye()
}
