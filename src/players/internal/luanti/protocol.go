package luanti

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"tickdisk/players/internal/play"
)

// Commands of protocol 41 (Luanti 5.6.1) that a player reads or writes. Other commands are ignored.
const (
	toClientHello            = 0x02
	toClientAuthAccept       = 0x03
	toClientAccessDenied     = 0x0a
	toClientBlockData        = 0x20
	toClientAddNode          = 0x21
	toClientRemoveNode       = 0x22
	toClientChatMessage      = 0x2f
	toClientMovePlayer       = 0x34
	toClientDeathScreen      = 0x37
	toClientAnnounceMedia    = 0x3c
	toClientUpdatePlayerList = 0x56
	toClientSRPSaltAndB      = 0x60

	toServerInit          = 0x02
	toServerInit2         = 0x11
	toServerPlayerPos     = 0x23
	toServerGotBlocks     = 0x24
	toServerDeletedBlocks = 0x25
	toServerChatMessage   = 0x32
	toServerInteract      = 0x39
	toServerClientReady   = 0x43
	toServerFirstSRP      = 0x50
	toServerSRPBytesA     = 0x51
	toServerSRPBytesM     = 0x52
)

const (
	serializationVersion = 29
	lowestProtocol       = 39
	highestProtocol      = 41
	mechanismSRP         = 1 << 1
	mechanismFirstSRP    = 1 << 2
	playerListRemove     = 2
	interactStartDigging = 0
	interactDug          = 2
	interactPlace        = 3
	contentAir           = 126
	nodeSize             = 10 // length of a node, in the unit of the protocol's floats
	mostBlocksAMessage   = 200
)

var deniedReasons = []string{
	"wrong password", "the server did not expect what the client sent", "the server is in single-player mode",
	"the server does not support this client's protocol version", "the player's name has characters that the server does not allow",
	"the server does not allow the player's name", "the server is full (max_users)", "the server does not allow an empty password",
	"a player of this name is already connected", "internal error of the server", "", "the server is shutting down", "the server crashed",
}

func deniedReason(r *reader) string {
	code := int(r.u8())
	custom := r.text()
	switch {
	case custom != "":
		return custom
	case code < len(deniedReasons):
		return deniedReasons[code]
	default:
		return fmt.Sprintf("unknown reason %d", code)
	}
}

func helloMessage(name string) []byte {
	return message(toServerInit).u8(serializationVersion).u16(0).u16(lowestProtocol).u16(highestProtocol).text(name).data
}

func firstSRPMessage(name string) []byte {
	salt, verifier := newVerifier(name)
	return message(toServerFirstSRP).text(string(salt)).text(string(verifier)).u8(0).data
}

func readyMessage() []byte {
	return message(toServerClientReady).u8(5).u8(6).u8(1).u8(0).text("tickdisk-players").u16(6).data
}

func chatMessage(text string) []byte { return message(toServerChatMessage).wideText(text).data }

func blocksMessages(command uint16, blocks []blockPosition) [][]byte {
	var messages [][]byte
	for len(blocks) > 0 {
		count := min(len(blocks), mostBlocksAMessage)
		w := message(command).u8(uint8(count))
		for _, block := range blocks[:count] {
			w.nodePosition(block)
		}
		messages = append(messages, w.data)
		blocks = blocks[count:]
	}
	return messages
}

// stance appends what a position update holds: the player's position and velocity, and how far the player sees.
//
// The player looks along +z with a field of view of 0, which is the server's default for clients that do not know theirs. The
// server tests whether a block is in sight by the block's angle to the view's axis, seen from a point behind the player. With a
// field of view of 0, this point is so far away that every angle is 0, and blocks in all directions pass. With a real field of
// view, blocks behind the player would be missing until the player turned round.
func (w *writer) stance(s play.Stance, rangeBlocks int) *writer {
	const unit = 100 * nodeSize
	const pitch, yaw, keys, fieldOfView = 0, 0, 0, 0
	w.fixed(unit, s.Position[:]...).fixed(unit, s.Velocity[:]...)
	return w.u32(pitch).u32(yaw).u32(keys).u8(fieldOfView).u8(uint8(rangeBlocks))
}

func positionMessage(s play.Stance, rangeBlocks int) []byte {
	return message(toServerPlayerPos).stance(s, rangeBlocks).data
}

// interactMessage returns an interaction with a node, at which the player points from above.
func interactMessage(interaction uint8, node play.Node, s play.Stance, rangeBlocks int) []byte {
	above := play.Node{node[0], node[1] + 1, node[2]}
	pointed := (&writer{}).u8(0).u8(1).node(node).node(above).data
	w := message(toServerInteract).u8(interaction).u16(0).u32(uint32(len(pointed))).bytes(pointed)
	return w.stance(s, rangeBlocks).data
}

// nodeReader finds single nodes in the blocks that the server sends. Serialization version 29 compresses blocks with zstd.
type nodeReader struct{ decoder *zstd.Decoder }

// content returns the content number of a node in a serialized block.
func (n *nodeReader) content(serialized []byte, node play.Node) (uint16, error) {
	const header, nodes = 5, 4096 // The header is flags, lighting, content width and parameter width. Contents of 16 bits follow.
	var err error
	if n.decoder == nil {
		n.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<24))
	}
	if err == nil {
		err = n.decoder.Reset(bytes.NewReader(serialized))
	}
	if err != nil {
		return 0, err
	}
	raw := make([]byte, header+2*nodes)
	if _, err := io.ReadFull(n.decoder, raw); err != nil {
		return 0, err
	}
	index := (node[2]&15)<<8 | (node[1]&15)<<4 | node[0]&15
	return binary.BigEndian.Uint16(raw[header+2*index:]), nil
}
