// Package protocol has the packets of Minecraft Java edition that a player needs, and how they are framed. It does no input and
// output of its own.
//
// The layout of the packets is that of the tables of the project minecraft-data (data/pc/1.21.11/protocol.json).
package protocol

import (
	"fmt"
	"math"
)

// The numbers of packets in this file are those of one version. A server of another version refuses the player.
const (
	Version = 774
	Release = "1.21.11"
)

// Number tells a packet from the server: the state of the connection in which the server sends it, and its number in this state.
type Number int32

const (
	login Number = iota << 16
	configuration
	play
)

// String returns the state and the number in it.
func (n Number) String() string {
	return fmt.Sprintf("%#04x of %s", int32(n)&(1<<16-1), [...]string{"login", "configuration", "play"}[n>>16])
}

// Packets from the server. All others are dropped unread.
const (
	LoginDisconnect   = login | 0x00
	EncryptionRequest = login | 0x01
	LoginSuccess      = login | 0x02
	SetCompression    = login | 0x03

	ConfigurationDisconnect = configuration | 0x02
	FinishConfiguration     = configuration | 0x03
	ConfigurationKeepAlive  = configuration | 0x04
	ConfigurationPing       = configuration | 0x05
	SelectKnownPacks        = configuration | 0x0e

	BlockUpdate        = play | 0x08
	ChunkBatchFinished = play | 0x0b
	Disconnect         = play | 0x20
	ForgetLevelChunk   = play | 0x25
	KeepAlive          = play | 0x2b
	LevelChunk         = play | 0x2c
	Ping               = play | 0x3b
	PlayerInfoRemove   = play | 0x43
	PlayerInfoUpdate   = play | 0x44
	PlayerPosition     = play | 0x46
	SetChunkCenter     = play | 0x5c
	SystemChat         = play | 0x77
)

const all = math.MaxInt

// kept says how many bytes of a packet's content are kept. These bytes of a chunk are its coordinates.
var kept = map[Number]int{
	LoginDisconnect: all, EncryptionRequest: all, LoginSuccess: all, SetCompression: all,
	ConfigurationDisconnect: all, FinishConfiguration: all, ConfigurationKeepAlive: all, ConfigurationPing: all, SelectKnownPacks: all,
	BlockUpdate: all, ChunkBatchFinished: all, Disconnect: all, ForgetLevelChunk: all, KeepAlive: all, LevelChunk: 8, Ping: all,
	PlayerInfoRemove: all, PlayerInfoUpdate: all, PlayerPosition: all, SetChunkCenter: all, SystemChat: all,
}

// Packets from the player.
const (
	toHandshake = 0x00

	toLoginStart        = 0x00
	toLoginAcknowledged = 0x03

	toClientInformation      = 0x00
	toFinishConfiguration    = 0x03
	toConfigurationKeepAlive = 0x04
	toConfigurationPong      = 0x05
	toSelectKnownPacks       = 0x07

	toConfirmTeleport    = 0x00
	toChatCommand        = 0x06
	toChunkBatchReceived = 0x0a
	toClientTickEnd      = 0x0c
	toKeepAlive          = 0x1b
	toPosition           = 0x1d
	toPlayerAction       = 0x28
	toPong               = 0x2c
	toUseItemOn          = 0x3f
)

// echoes has the packets that the player answers with their own content.
var echoes = map[Number]uint64{
	FinishConfiguration: toFinishConfiguration, ConfigurationKeepAlive: toConfigurationKeepAlive, ConfigurationPing: toConfigurationPong,
	SelectKnownPacks: toSelectKnownPacks, KeepAlive: toKeepAlive, Ping: toPong,
}
