package luanti

import (
	"fmt"
	"math"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// issue starts an action. Afterwards, the action is either pending or has its record.
func (p *player) issue(action trace.Action, nowNS int64) {
	if action.Kind == trace.Join {
		p.join(action, nowNS)
		return
	}
	if p.state != present {
		p.neverIssued(action, nowNS, "the player is not in the game: "+p.reason)
		return
	}
	p.current = &pending{action: action, issuedNS: nowNS, deadlineNS: nowNS + p.session.config.Timeout.Nanoseconds()}
	switch action.Kind {
	case trace.Walk:
		p.walk(action, nowNS)
	case trace.Teleport:
		to := action.Vector()
		p.connection.Send(0, true, chatMessage(fmt.Sprintf("/tickdisk_teleport %g %g %g", to[0], to[1], to[2])), nowNS)
	case trace.Ping:
		p.pings++
		p.current.answer = fmt.Sprintf("pong %d", p.pings)
		p.connection.Send(0, true, chatMessage(fmt.Sprintf("/tickdisk_ping %d", p.pings)), nowNS)
	case trace.Marker:
		number := int(action.Parameters["number"])
		p.current.answer = fmt.Sprintf("marker %d ", number)
		p.connection.Send(0, true, chatMessage(fmt.Sprintf("/tickdisk_marker %d", number)), nowNS)
	case trace.Burn:
		milliseconds := int(action.Parameters["milliseconds"])
		p.current.answer = fmt.Sprintf("burnt %d", milliseconds)
		p.connection.Send(0, true, chatMessage(fmt.Sprintf("/tickdisk_burn %d", milliseconds)), nowNS)
	case trace.Place:
		node := p.nodeOr(action, func() [3]int16 { return nodeAt([3]float64{p.position[0], p.position[1] - 1, p.position[2]}) })
		p.current.node, p.lastPlaced = node, &node
		p.connection.Send(0, true, interactMessage(interactPlace, node, p.stance()), nowNS)
	case trace.Dig:
		if !action.Has("x") && p.lastPlaced == nil {
			p.current = nil
			p.neverIssued(action, nowNS, "the player has not placed a node yet")
			return
		}
		p.current.node = p.nodeOr(action, func() [3]int16 { return *p.lastPlaced })
		p.connection.Send(0, true, interactMessage(interactStartDigging, p.current.node, p.stance()), nowNS)
		p.connection.Send(0, true, interactMessage(interactDug, p.current.node, p.stance()), nowNS)
	case trace.Leave:
		p.leave(nowNS)
	}
}

func (p *player) nodeOr(action trace.Action, other func() [3]int16) [3]int16 {
	if action.Has("x") {
		return nodeAt(action.Vector())
	}
	return other()
}

func nodeAt(position [3]float64) (node [3]int16) {
	for axis, part := range position {
		node[axis] = int16(math.Floor(part + 0.5))
	}
	return node
}

func (p *player) join(action trace.Action, nowNS int64) {
	if p.state != offline {
		p.neverIssued(action, nowNS, "the player is already in the game")
		return
	}
	c, err := dial(p.session.config.Address, p.handle)
	if err != nil {
		p.neverIssued(action, nowNS, err.Error())
		return
	}
	p.connection, p.state, p.blocks, p.velocity, p.lastPlaced = c, connecting, newBlockSet(), [3]float64{}, nil
	phase := (nowNS - p.session.config.StartNS - p.offsetNS) % positionPeriodNS
	p.nextUpdateNS = nowNS - phase + positionPeriodNS
	if phase < 0 {
		p.nextUpdateNS -= positionPeriodNS
	}
	p.nextRepeatNS = nowNS
	p.current = &pending{action: action, issuedNS: nowNS, deadlineNS: nowNS + p.session.config.Timeout.Nanoseconds()}
	// An empty reliable message makes the server answer with the player's identity on this connection.
	c.Send(0, true, []byte{0, 0}, nowNS)
}

// walk sets the player's velocity from now on. The player keeps its height.
func (p *player) walk(action trace.Action, nowNS int64) {
	east, north := action.Parameters["x"], action.Parameters["z"]
	if action.Has("yaw_degrees") {
		yaw := action.Parameters["yaw_degrees"] * math.Pi / 180
		east, north = -math.Sin(yaw), math.Cos(yaw)
	}
	p.velocity = [3]float64{}
	if length := math.Hypot(east, north); length > 0 {
		speed := action.Parameters["speed_nodes_per_s"] / length
		p.velocity[0], p.velocity[2] = east*speed, north*speed
	}
	p.sendPosition(nowNS)
	p.complete(monotonic.Now(), "")
}

func (p *player) leave(nowNS int64) {
	p.state = leaving
	p.left = p.session.leaves(p.name)
	p.nextRepeatNS = nowNS + repeatPeriodNS
	p.connection.Disconnect(nowNS)
}

func (p *player) finish(outcome report.Outcome, completedNS *int64, endedNS int64, detail string) {
	done := p.current
	p.current = nil
	p.idleSinceNS = endedNS
	p.session.records.Write(report.Record{
		Player: p.name, Kind: done.action.Kind, DueNS: p.session.config.StartNS + done.action.DueNS, IssuedNS: &done.issuedNS,
		CompletedNS: completedNS, Outcome: outcome, Detail: detail,
	}, endedNS)
}

func (p *player) complete(atNS int64, detail string) { p.finish(report.Completed, &atNS, atNS, detail) }

func (p *player) fail(nowNS int64, reason string) {
	p.finish(report.Failed, nil, nowNS, reason)
}

func (p *player) timedOut(nowNS int64) {
	kind := p.current.action.Kind
	p.finish(report.TimedOut, nil, nowNS, fmt.Sprintf("the action did not end within %s: %s", p.session.config.Timeout, p.progress()))
	if kind == trace.Leave || p.state != present {
		p.counts.ConnectionErrors++
		p.hangUp("its " + string(kind) + " timed out")
	}
}

// progress describes how far the pending action came.
func (p *player) progress() string {
	switch {
	case p.state == connecting && p.connection.refused.Load():
		return "nothing listens at " + p.session.config.Address
	case p.state == connecting && p.connection.counts.PacketsReceived == 0:
		return p.session.config.Address + " does not answer"
	case p.state == connecting || p.state == loading || p.state == ready:
		return "the server did not let the player in"
	case p.searching():
		return fmt.Sprintf("%d of %d blocks are still missing, and %d were received", len(p.blocks.missing), p.session.config.Radius.Blocks(),
			p.current.received)
	case p.current.action.Kind == trace.Teleport:
		return "the server did not move the player"
	case p.current.action.Kind == trace.Leave:
		return "the server did not announce the leave to the players that stayed"
	default:
		return fmt.Sprintf("the server did not answer, and %d blocks were received", p.current.received)
	}
}

// neverIssued records an action for which nothing was sent.
func (p *player) neverIssued(action trace.Action, nowNS int64, reason string) {
	p.idleSinceNS = nowNS
	p.session.records.Write(report.Record{
		Player: p.name, Kind: action.Kind, DueNS: p.session.config.StartNS + action.DueNS, Outcome: report.Failed,
		Detail: "not issued: " + reason,
	}, nowNS)
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

func (p *player) hangUp(reason string) {
	p.connection.close()
	p.counts.Add(p.connection.counts)
	p.session.mutex.Lock()
	delete(p.session.present, p.name)
	delete(p.session.leaving, p.name)
	p.session.mutex.Unlock()
	p.connection, p.state, p.reason, p.left = nil, offline, reason, nil
}

// sayGoodbye disconnects a player that has no more actions.
func (p *player) sayGoodbye() {
	if p.connection != nil {
		p.connection.Disconnect(monotonic.Now())
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
