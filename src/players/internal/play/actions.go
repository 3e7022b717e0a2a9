package play

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
	p.begin(action, nowNS)
	switch action.Kind {
	case trace.Walk:
		p.walk(action, nowNS)
	case trace.Place:
		node := p.nodeOr(action, func() Node {
			below := p.stance.Position
			below[1] -= p.session.traits.PlaceDepth
			return NodeAt(below)
		})
		p.current.node, p.lastPlaced = node, &node
		p.connection.Place(node, p.stance, nowNS)
	case trace.Dig:
		if !action.Has("x") && p.lastPlaced == nil {
			p.current = nil
			p.neverIssued(action, nowNS, "the player has not placed a node yet")
			return
		}
		p.current.node = p.nodeOr(action, func() Node { return *p.lastPlaced })
		p.connection.Dig(p.current.node, p.stance, nowNS)
	case trace.Look:
		p.current.node = NodeAt(action.Vector())
		at := fmt.Sprintf("%d %d %d", p.current.node[0], p.current.node[1], p.current.node[2])
		p.current.answer = "look " + at
		p.connection.Command("tickdisk_look "+at, nowNS)
	case trace.Leave:
		p.state, p.left, p.nextRepeatNS = leaving, p.session.leaves(p.name), nowNS+leaveRepeatNS
		p.connection.Leave(nowNS)
	default:
		text, answer := p.command(action)
		p.current.answer = answer
		p.connection.Command(text, nowNS)
	}
}

// commands has the commands that take one number, which the answer repeats.
var commands = map[trace.Kind]struct{ parameter, command, answer string }{
	trace.Marker: {"number", "tickdisk_marker", "marker"},
	trace.Burn:   {"milliseconds", "tickdisk_burn", "burnt"},
	trace.Attack: {"player", "tickdisk_attack", "attacked"},
	trace.NPC:    {"number", "tickdisk_npc", "npc"},
	trace.Kill:   {"number", "tickdisk_kill", "killed"},
}

// command returns the server's command for an action, and the answer that completes it. The server answers no teleport.
func (p *player) command(action trace.Action) (text, answer string) {
	switch action.Kind {
	case trace.Teleport:
		to := action.Vector()
		text = fmt.Sprintf("tickdisk_teleport %g %g %g", to[0], to[1], to[2])
	case trace.Ping:
		p.pings++
		text, answer = fmt.Sprintf("tickdisk_ping %d", p.pings), fmt.Sprintf("pong %d", p.pings)
	default:
		known := commands[action.Kind]
		number := int(action.Parameters[known.parameter])
		text, answer = fmt.Sprintf("%s %d", known.command, number), fmt.Sprintf("%s %d", known.answer, number)
	}
	return text, answer
}

func (p *player) nodeOr(action trace.Action, other func() Node) Node {
	if action.Has("x") {
		return NodeAt(action.Vector())
	}
	return other()
}

// looked ends a look with the server's answer after its position: what is there, in the words of report.Seen, and the block's name.
func (p *player) looked(answer string) {
	var seen report.Seen
	var name string
	if count, _ := fmt.Sscan(answer, &seen, &name); count < 2 || seen != report.Placed && seen != report.Air && seen != report.Other {
		p.fail(p.receivedNS, "the server's answer says nothing that the client knows:"+answer)
		return
	}
	p.current.seen = &seen
	p.complete(p.receivedNS, name)
}

func (p *player) begin(action trace.Action, nowNS int64) {
	p.current = &pending{action: action, issuedNS: nowNS, deadlineNS: nowNS + p.session.config.Timeout.Nanoseconds()}
}

func (p *player) join(action trace.Action, nowNS int64) {
	if p.state != offline {
		p.neverIssued(action, nowNS, "the player is already in the game")
		return
	}
	connection, err := p.session.driver.Open(p.session.config.Address, p.name, p)
	if err != nil {
		p.neverIssued(action, nowNS, err.Error())
		return
	}
	p.connection, p.state, p.stance, p.lastPlaced = connection, joining, Stance{}, nil
	periodNS := p.session.traits.UpdatePeriod.Nanoseconds()
	phase := (nowNS - p.session.config.StartNS - p.offsetNS) % periodNS
	p.nextUpdateNS = nowNS - phase + periodNS
	if phase < 0 {
		p.nextUpdateNS -= periodNS
	}
	p.begin(action, nowNS)
}

// walk sets the player's velocity from now on. The player keeps its height.
func (p *player) walk(action trace.Action, nowNS int64) {
	east, north := action.Parameters["x"], action.Parameters["z"]
	if action.Has("yaw_degrees") {
		yaw := action.Parameters["yaw_degrees"] * math.Pi / 180
		east, north = -math.Sin(yaw), math.Cos(yaw)
	}
	p.stance.Velocity = [3]float64{}
	if length := math.Hypot(east, north); length > 0 {
		speed := action.Parameters["speed_nodes_per_s"] / length
		p.stance.Velocity[0], p.stance.Velocity[2] = east*speed, north*speed
	}
	p.connection.Move(p.stance, nowNS)
	p.complete(monotonic.Now(), "")
}

func (p *player) finish(outcome report.Outcome, completedNS *int64, endedNS int64, detail string) {
	done := p.current
	p.current = nil
	p.idleSinceNS = endedNS
	record := report.Record{
		Player: p.name, Kind: done.action.Kind, DueNS: p.session.config.StartNS + done.action.DueNS, IssuedNS: &done.issuedNS,
		CompletedNS: completedNS, Outcome: outcome, Detail: detail, Seen: done.seen,
	}
	if isAboutNode(done.action) {
		record.X, record.Y, record.Z = &done.node[0], &done.node[1], &done.node[2]
	}
	p.session.records.Write(record, endedNS)
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
	terrain := p.session.traits.Terrain
	switch {
	case p.state == joining:
		return p.connection.Progress()
	case p.waiting():
		return fmt.Sprintf("%d of %d %s are still missing, and %d were received", p.connection.Missing(), p.current.pieces, terrain,
			p.current.received)
	case p.current.action.Kind == trace.Teleport:
		return "the server did not move the player"
	case p.current.action.Kind == trace.Leave:
		return "the server did not announce the leave to the players that stayed"
	default:
		return fmt.Sprintf("the server did not answer, and %d %s were received", p.current.received, terrain)
	}
}

// neverIssued records an action for which nothing was sent.
func (p *player) neverIssued(action trace.Action, nowNS int64, reason string) {
	p.idleSinceNS = nowNS
	record := report.Record{
		Player: p.name, Kind: action.Kind, DueNS: p.session.config.StartNS + action.DueNS, Outcome: report.Failed,
		Detail: "not issued: " + reason,
	}
	if isAboutNode(action) && action.Has("x") {
		node := NodeAt(action.Vector())
		record.X, record.Y, record.Z = &node[0], &node[1], &node[2]
	}
	p.session.records.Write(record, nowNS)
}

func isAboutNode(action trace.Action) bool {
	return action.Kind == trace.Place || action.Kind == trace.Dig || action.Kind == trace.Look
}
