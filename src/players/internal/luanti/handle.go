package luanti

import (
	"fmt"
	"strings"

	"tickdisk/players/internal/monotonic"
)

// handle acts on a whole message from the server.
func (c *connection) handle(data []byte) {
	if c.phase == leaving {
		return
	}
	r := &reader{data: data}
	switch command := r.u16(); command {
	case toClientHello:
		c.authenticate(r)
	case toClientSRPSaltAndB:
		c.prove(r)
	case toClientAuthAccept:
		c.answer(message(toServerInit2).text("").data)
	case toClientAccessDenied:
		c.refused(deniedReason(r))
	case toClientAnnounceMedia:
		// The definitions have arrived before this message. A player needs no textures and sounds.
		if c.phase == loading {
			c.phase = ready
			c.answer(readyMessage())
		}
	case toClientMovePlayer:
		c.moved(r)
	case toClientBlockData:
		c.gotBlock(r)
	case toClientAddNode:
		node := r.node()
		c.observer.NodeIs(node, r.u16() == contentAir, "the node's update arrived")
	case toClientRemoveNode:
		c.observer.NodeIs(r.node(), true, "the node's update arrived")
	case toClientChatMessage:
		c.heard(r)
	case toClientUpdatePlayerList:
		c.playerList(r)
	case toClientDeathScreen:
		c.refused("the player died; let the server's probe make players immortal")
	}
}

// answer sends a message that belongs to a join.
func (c *connection) answer(data []byte) { c.transport.Send(1, true, data, monotonic.Now()) }

// refused marks the connection as closed, and the player's loop then ends it.
func (c *connection) refused(reason string) {
	c.transport.closed = fmt.Errorf("the server refused the player: %s", reason)
}

func (c *connection) authenticate(r *reader) {
	if c.phase != connecting {
		return
	}
	r.take(1 + 2 + 2) // serialization, compression, protocol
	mechanisms := r.u32()
	c.phase = loading
	switch {
	case mechanisms&mechanismFirstSRP != 0:
		c.answer(firstSRPMessage(c.name))
	case mechanisms&mechanismSRP != 0:
		c.login = newLogin(c.name)
		c.answer(message(toServerSRPBytesA).text(string(c.login.public.Bytes())).u8(1).data)
	default:
		c.refused(fmt.Sprintf("it offers no way to log in that the client knows (mechanisms %d)", mechanisms))
	}
}

func (c *connection) prove(r *reader) {
	if c.login == nil {
		return
	}
	salt, public := r.text(), r.text()
	proof, err := c.login.proof([]byte(salt), []byte(public))
	if err != nil {
		c.refused(err.Error())
		return
	}
	c.answer(message(toServerSRPBytesM).text(string(proof)).data)
}

// moved passes on where the server has put the player. It does so after a join and after a teleport.
func (c *connection) moved(r *reader) {
	position := [3]float64{r.f32() / nodeSize, r.f32() / nodeSize, r.f32() / nodeSize}
	if r.short || c.phase < ready {
		return
	}
	c.phase, c.position = present, position
	c.observer.Moved(position)
}

func (c *connection) gotBlock(r *reader) {
	block := blockPosition(r.nodePosition())
	if r.short {
		return
	}
	c.observer.Terrain()
	nowNS := monotonic.Now()
	c.tellBlocks(toServerGotBlocks, []blockPosition{block}, nowNS)
	if c.phase == present && !within(block, blockOf(c.position), c.keepBlocks()) {
		c.tellBlocks(toServerDeletedBlocks, []blockPosition{block}, nowNS)
		return
	}
	c.blocks.Arrived(block)
	node, waiting := c.observer.Awaited()
	if !waiting || block != blockOfNode(node) {
		return
	}
	content, err := c.nodes.content(r.data, node)
	if err != nil {
		c.transport.closed = fmt.Errorf("block %v cannot be read (%w)", block, err)
		return
	}
	c.observer.NodeIs(node, content == contentAir, "the node's block arrived")
}

// heard passes on a chat message. The answer to a command that failed begins with a mark. To the answer to a command that took long,
// the server adds the time in a colour, which begins with an escape character.
func (c *connection) heard(r *reader) {
	r.take(2) // version, type
	r.wideText()
	text := r.wideText()
	if r.short {
		return
	}
	if reason, rejected := strings.CutPrefix(text, "-!-"); rejected {
		c.observer.Refused(strings.TrimSpace(reason))
	} else {
		answer, _, _ := strings.Cut(text, "\x1b")
		c.observer.Heard(answer)
	}
}

func (c *connection) playerList(r *reader) {
	if r.u8() != playerListRemove {
		return
	}
	for count := r.u16(); count > 0 && !r.short; count-- {
		c.observer.Gone(r.text())
	}
}
