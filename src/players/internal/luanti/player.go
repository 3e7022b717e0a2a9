package luanti

import (
	"context"
	"math"
	"time"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

const (
	positionPeriodNS = 100e6
	repeatPeriodNS   = 500e6 // of the two messages that the transport does not repeat: the first hello, and the goodbye
	mapLimitNodes    = 31000
)

type state int

const (
	offline state = iota
	connecting
	loading
	ready // told the server so, waits for the place to stand
	present
	leaving
)

// pending is the action that the player is busy with.
type pending struct {
	action     trace.Action
	issuedNS   int64
	deadlineNS int64
	received   int      // blocks since it was issued
	missing    int      // blocks that were missing when the wait began
	moved      bool     // teleport: the server has moved the player
	node       [3]int16 // place, dig
	answer     string   // ping, marker, burn: how the server's answer begins
}

// player runs one player's queue in one goroutine: packets, timers and actions one at a time.
type player struct {
	session *session
	name    string
	queue   []trace.Action
	current *pending

	connection   *connection
	state        state
	reason       string // why the player is offline
	blocks       *blockSet
	nodes        nodeReader
	login        *login
	position     [3]float64
	velocity     [3]float64
	pings        int
	lastPlaced   *[3]int16
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
	return &player{session: s, name: name, queue: queue, offsetNS: offsetNS, blocks: newBlockSet(), reason: "it has not joined"}
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
		var incoming chan packet
		if p.connection != nil {
			incoming = p.connection.incoming
		}
		select {
		case arrived := <-incoming:
			p.receivedNS = arrived.receivedNS
			p.connection.Receive(arrived.data, arrived.receivedNS)
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
	if p.connection != nil && nowNS >= p.nextUpdateNS {
		p.lags = append(p.lags, report.LagSample{ScheduledNS: p.nextUpdateNS, LagNS: nowNS - p.nextUpdateNS})
		periods := (nowNS-p.nextUpdateNS)/positionPeriodNS + 1
		p.nextUpdateNS += periods * positionPeriodNS
		p.update(nowNS, float64(periods)*positionPeriodNS/1e9)
	}
	if p.connection != nil && p.connection.closed != nil {
		p.lost(p.connection.closed.Error(), nowNS)
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

// update is what happens every 100 ms at fixed times while connected.
func (p *player) update(nowNS int64, elapsedS float64) {
	p.connection.Advance(nowNS)
	switch p.state {
	case connecting:
		if p.connection.peerID != 0 && nowNS >= p.nextRepeatNS {
			p.nextRepeatNS = nowNS + repeatPeriodNS
			p.connection.Send(1, false, helloMessage(p.name), nowNS)
		}
	case present:
		switch {
		case p.searching():
			p.search(nowNS)
		case p.current != nil && p.current.action.Kind == trace.Teleport:
			// Silent until the server has moved the player: an update from the old place would move it back.
		default:
			for axis := range p.position {
				p.position[axis] = max(-mapLimitNodes, min(mapLimitNodes, p.position[axis]+p.velocity[axis]*elapsedS))
			}
			p.sendPosition(nowNS)
			p.forgetFarBlocks(nowNS)
		}
	case leaving:
		switch {
		case p.session.observers() == 0:
			p.complete(p.current.issuedNS, "sent; no other player of this process was in the game to see the server announce it")
			p.hangUp("it has left")
		case nowNS >= p.nextRepeatNS:
			p.nextRepeatNS = nowNS + repeatPeriodNS
			p.connection.Disconnect(nowNS)
		}
	}
}

// searching tells whether the player stands and waits for the blocks around it.
func (p *player) searching() bool {
	return p.current != nil && (p.current.action.Kind == trace.Join || p.current.action.Kind == trace.Teleport && p.current.moved)
}

// search says where the player is and reminds the server that it waits: a server that finds nothing more to send looks away for 2 s,
// and a word about a dropped block ends that. So the wait measures loading, not looking.
func (p *player) search(nowNS int64) {
	p.sendPosition(nowNS)
	never := blockOf(p.position)
	never[1] += int16(p.keepBlocks() + 1) // out of the range of what the server sends
	p.tellBlocks(toServerDeletedBlocks, []BlockPosition{never}, nowNS)
}

func (p *player) stance() stance {
	s := stance{position: p.position, velocity: p.velocity, rangeBlocks: p.session.config.RangeBlocks}
	if p.searching() {
		s.velocity = [3]float64{}
	}
	return s
}

func (p *player) sendPosition(nowNS int64) {
	p.connection.Send(0, false, positionMessage(p.stance()), nowNS)
}

// keepBlocks is the distance from which on blocks are dropped: beyond what the server sends to a walking player.
func (p *player) keepBlocks() int { return p.session.config.RangeBlocks + 3 }

func (p *player) forgetFarBlocks(nowNS int64) {
	p.tellBlocks(toServerDeletedBlocks, p.blocks.drop(blockOf(p.position), p.keepBlocks()), nowNS)
}

func (p *player) tellBlocks(command uint16, blocks []BlockPosition, nowNS int64) {
	for _, m := range blocksMessages(command, blocks) {
		p.connection.Send(2, true, m, nowNS)
	}
}
