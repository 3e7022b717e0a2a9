package luanti

import (
	"fmt"
	"math"
	"strings"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/trace"
)

// handle acts on a whole message from the server.
func (p *player) handle(data []byte) {
	if p.connection == nil || p.state == leaving {
		return
	}
	r := &reader{data: data}
	switch command := r.u16(); command {
	case toClientHello:
		p.authenticate(r)
	case toClientSRPSaltAndB:
		p.prove(r)
	case toClientAuthAccept:
		p.answer(message(toServerInit2).text("").data)
	case toClientAccessDenied:
		p.refused(deniedReason(r))
	case toClientAnnounceMedia:
		// The definitions have arrived before this message. A player needs no textures and sounds.
		if p.state == loading {
			p.state = ready
			p.answer(readyMessage())
		}
	case toClientMovePlayer:
		p.movedTo([3]float64{r.f32() / nodeSize, r.f32() / nodeSize, r.f32() / nodeSize}, r.short)
	case toClientBlockData:
		p.gotBlock(r)
	case toClientAddNode:
		node := r.nodePosition()
		p.nodeIs(node, r.u16(), "the node's update arrived")
	case toClientRemoveNode:
		p.nodeIs(r.nodePosition(), contentAir, "the node's update arrived")
	case toClientChatMessage:
		p.heard(r)
	case toClientUpdatePlayerList:
		p.playerList(r)
	case toClientDeathScreen:
		p.refused("the player died; turn damage off (enable_damage = false)")
	}
}

// answer sends a message that belongs to a join.
func (p *player) answer(data []byte) { p.connection.Send(1, true, data, monotonic.Now()) }

// refused marks the connection as closed, and the player's loop then ends it.
func (p *player) refused(reason string) {
	p.connection.closed = fmt.Errorf("the server refused the player: %s", reason)
}

func (p *player) authenticate(r *reader) {
	if p.state != connecting {
		return
	}
	r.take(1 + 2 + 2) // serialization, compression, protocol
	mechanisms := r.u32()
	p.state = loading
	switch {
	case mechanisms&mechanismFirstSRP != 0:
		p.answer(firstSRPMessage(p.name))
	case mechanisms&mechanismSRP != 0:
		p.login = newLogin(p.name)
		p.answer(message(toServerSRPBytesA).text(string(p.login.public.Bytes())).u8(1).data)
	default:
		p.refused(fmt.Sprintf("it offers no way to log in that the client knows (mechanisms %d)", mechanisms))
	}
}

func (p *player) prove(r *reader) {
	if p.login == nil {
		return
	}
	salt, public := r.text(), r.text()
	proof, err := p.login.proof([]byte(salt), []byte(public))
	if err != nil {
		p.refused(err.Error())
		return
	}
	p.answer(message(toServerSRPBytesM).text(string(proof)).data)
}

// movedTo takes over the player's position from the server, which sends it after a join and after a teleport.
func (p *player) movedTo(position [3]float64, short bool) {
	if short {
		return
	}
	p.position = position
	if p.state == ready {
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
	p.forgetFarBlocks(nowNS)
	p.current.missing = p.blocks.expect(blockOf(position), p.session.config.Radius)
	p.search(nowNS)
	p.completeSearch()
}

// completeSearch ends a join or a teleport if no block is missing.
func (p *player) completeSearch() {
	if p.state != present || !p.searching() || len(p.blocks.missing) > 0 {
		return
	}
	p.complete(p.receivedNS, fmt.Sprintf("%d of %d blocks were missing, and %d were received", p.current.missing,
		p.session.config.Radius.Blocks(), p.current.received))
}

func (p *player) gotBlock(r *reader) {
	block := BlockPosition(r.nodePosition())
	if r.short {
		return
	}
	p.counts.BlocksReceived++
	nowNS := monotonic.Now()
	p.tellBlocks(toServerGotBlocks, []BlockPosition{block}, nowNS)
	if p.state == present && !within(block, blockOf(p.position), p.keepBlocks()) {
		p.tellBlocks(toServerDeletedBlocks, []BlockPosition{block}, nowNS)
		return
	}
	p.blocks.arrived(block)
	if p.current == nil {
		return
	}
	p.current.received++
	if kind := p.current.action.Kind; (kind == trace.Place || kind == trace.Dig) && block == blockOfNode(p.current.node) {
		content, err := p.nodes.content(r.data, p.current.node)
		if err != nil {
			p.connection.closed = fmt.Errorf("block %v cannot be read (%w)", block, err)
			return
		}
		p.nodeIs(p.current.node, content, "the node's block arrived")
	} else {
		p.completeSearch()
	}
}

// nodeIs ends a place or a dig if the server shows that it is done.
func (p *player) nodeIs(node [3]int16, content uint16, how string) {
	if p.current == nil || node != p.current.node {
		return
	}
	kind := p.current.action.Kind
	if kind == trace.Place && content != contentAir || kind == trace.Dig && content == contentAir {
		p.complete(p.receivedNS, how)
	}
}

func (p *player) heard(r *reader) {
	r.take(2) // version, type
	r.wideText()
	text := r.wideText()
	if r.short || p.current == nil {
		return
	}
	switch kind := p.current.action.Kind; {
	// If a command took long, Luanti adds the time to its answer. Only the beginning is therefore compared.
	case kind == trace.Ping && text == p.current.answer,
		(kind == trace.Marker || kind == trace.Burn) && strings.HasPrefix(text, p.current.answer):
		p.complete(p.receivedNS, "")
	case (kind == trace.Ping || kind == trace.Marker || kind == trace.Burn || kind == trace.Teleport && !p.current.moved) && strings.HasPrefix(text, "-!-"):
		p.fail(p.receivedNS, "the server rejected the command: "+strings.TrimSpace(strings.TrimPrefix(text, "-!-")))
	}
}

func (p *player) playerList(r *reader) {
	if r.u8() != playerListRemove {
		return
	}
	for count := r.u16(); count > 0 && !r.short; count-- {
		p.session.announced(r.text(), p.receivedNS)
	}
}
