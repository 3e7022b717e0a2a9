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
	repeatPeriodNS   = 500e6 // for the two messages that the transport does not repeat: the first hello, and the disconnection
	mapLimitNodes    = 31000
)

type state int

const (
	offline state = iota
	connecting
	loading
	ready // has told the server so, and waits for its position
	present
	leaving
)

// pending is the action that the player is busy with.
type pending struct {
	action     trace.Action
	issuedNS   int64
	deadlineNS int64
	received   int      // blocks that arrived since the action was issued
	missing    int      // blocks that were missing when the wait began
	moved      bool     // for a teleport: whether the server has moved the player
	node       [3]int16 // for place and dig
	answer     string   // for ping, marker and burn: the beginning of the server's answer
}

// player runs the queue of one player in one goroutine, which handles packets, timers and actions one at a time.
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

// update does the work that is due every 100 ms, at fixed times, while the player is connected.
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
			// No update is sent until the server has moved the player, because an update from the old place would move it back.
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
			p.complete(p.current.issuedNS, "the leave was sent; no other player of this process was in the game to see the server announce it")
			p.hangUp("it has left")
		case nowNS >= p.nextRepeatNS:
			p.nextRepeatNS = nowNS + repeatPeriodNS
			p.connection.Disconnect(nowNS)
		}
	}
}

// searching returns whether the player stands still and waits for the blocks around it.
func (p *player) searching() bool {
	return p.current != nil && (p.current.action.Kind == trace.Join || p.current.action.Kind == trace.Teleport && p.current.moved)
}

// search sends the player's position and reminds the server that the player waits. A server that finds nothing more to send does
// not look again for 2 s, but a message about a dropped block ends that pause. The wait therefore measures loading, and not the
// pause.
func (p *player) search(nowNS int64) {
	p.sendPosition(nowNS)
	never := blockOf(p.position)
	never[1] += int16(p.keepBlocks() + 1) // beyond the blocks that the server sends
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

// keepBlocks returns the distance, in blocks, beyond which blocks are dropped. The server sends no block so far from a walking
// player.
func (p *player) keepBlocks() int { return p.session.config.RangeBlocks + 3 }

func (p *player) forgetFarBlocks(nowNS int64) {
	p.tellBlocks(toServerDeletedBlocks, p.blocks.drop(blockOf(p.position), p.keepBlocks()), nowNS)
}

func (p *player) tellBlocks(command uint16, blocks []BlockPosition, nowNS int64) {
	for _, m := range blocksMessages(command, blocks) {
		p.connection.Send(2, true, m, nowNS)
	}
}
