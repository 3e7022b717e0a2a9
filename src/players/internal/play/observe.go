package play

import (
	"fmt"
	"math"
	"strings"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// Moved takes over the player's position from the server, which sends it after a join and after a teleport.
func (p *player) Moved(position [3]float64) {
	p.stance.Position = position
	if p.state == joining {
		p.state = present
		p.session.entered(p.name)
	}
	if p.state != present || p.current == nil {
		return
	}
	switch p.current.action.Kind {
	case trace.Teleport:
		for axis, to := range p.current.action.Vector() {
			if math.Abs(position[axis]-to) > 1 {
				return
			}
		}
		p.current.moved = true
	case trace.Join:
	default:
		return
	}
	nowNS := monotonic.Now()
	p.current.missing, p.current.pieces = p.connection.Expect(position, nowNS)
	p.connection.Stand(p.stance, nowNS)
}

// Terrain counts a piece of terrain.
func (p *player) Terrain() {
	p.counts.BlocksReceived++
	if p.current != nil {
		p.current.received++
	}
}

// completeWait ends a join or a teleport if no piece of terrain is missing.
func (p *player) completeWait() {
	if p.waiting() && p.connection.Missing() == 0 {
		p.complete(p.receivedNS, fmt.Sprintf("%d of %d %s were missing, and %d were received", p.current.missing, p.current.pieces,
			p.session.traits.Terrain, p.current.received))
	}
}

// Awaited returns the node of the pending place or dig.
func (p *player) Awaited() (node Node, waiting bool) {
	if p.current == nil || p.current.action.Kind != trace.Place && p.current.action.Kind != trace.Dig {
		return Node{}, false
	}
	return p.current.node, true
}

// NodeIs ends a place or a dig if the server shows that it is done.
func (p *player) NodeIs(node Node, air bool, how string) {
	awaited, waiting := p.Awaited()
	if waiting && node == awaited && air == (p.current.action.Kind == trace.Dig) {
		p.complete(p.receivedNS, how)
	}
}

// Heard ends a command if the server has answered it.
func (p *player) Heard(text string) {
	if p.current == nil || p.current.answer == "" {
		return
	}
	// If a command took long, Luanti adds the time to its answer. Only the beginning is therefore compared, up to a whole number.
	rest, begins := strings.CutPrefix(text, p.current.answer)
	if !begins || rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		return
	}
	if p.current.action.Kind == trace.Look {
		p.looked(rest)
		return
	}
	p.complete(p.receivedNS, "")
}

// Refused ends a command that the server has rejected.
func (p *player) Refused(reason string) {
	if p.current == nil {
		return
	}
	if p.current.action.Kind == trace.Look && isAbout(reason, strings.TrimPrefix(p.current.answer, "look ")) {
		refused := report.Refused
		p.current.seen = &refused
	}
	if p.current.answer != "" || p.current.action.Kind == trace.Teleport && !p.current.moved {
		p.fail(p.receivedNS, "the server rejected the command: "+reason)
	}
}

// isAbout returns whether a text names a position. A late answer to an earlier look names another one.
func isAbout(text, position string) bool {
	return strings.Contains(" "+text+" ", " "+position+" ")
}

// Gone passes on that another player has left.
func (p *player) Gone(name string) { p.session.announced(name, p.receivedNS) }
