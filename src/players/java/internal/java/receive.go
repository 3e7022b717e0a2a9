package java

import (
	"strings"

	"tickdisk/players/internal/play"
	"tickdisk/players/java/internal/client"
	"tickdisk/players/java/internal/protocol"
)

const (
	air           = 0           // as the state of a block
	refusal       = "refused: " // With this, our server begins the answer to a command that it rejects.
	chunksPerTick = 64          // Minestom's maximum. The server must never wait for the player.
)

// Receive acts on what came from the server.
func (c *connection) Receive(arrival play.Arrival) {
	if c.left {
		return
	}
	switch content := arrival.Content.(type) {
	case error:
		c.end("%w", content)
	case client.Connected:
		c.send(c.hello...)
	case protocol.Packet:
		c.last = content.Number
		fields := content.Fields()
		if c.handle(content, fields); fields.Short {
			c.end("a packet of the server (%s) is shorter than in protocol %d", content.Number, protocol.Version)
		}
	}
}

func (c *connection) handle(packet protocol.Packet, fields *protocol.Fields) {
	if answer, known := protocol.Echo(packet); known {
		c.send(answer)
		return
	}
	switch packet.Number {
	case protocol.LoginDisconnect:
		c.end("the server refused a player of Minecraft %s (protocol %d): %s", protocol.Release, protocol.Version, fields.JSONText())
	case protocol.ConfigurationDisconnect, protocol.Disconnect:
		c.end("the server disconnected the player: %s", fields.Text())
	case protocol.EncryptionRequest:
		c.end("the server wants to check the player's account; let it accept players offline")
	case protocol.SetCompression:
		c.client.Compress()
	case protocol.LoginSuccess:
		c.send(protocol.LoginAcknowledged(), protocol.ClientInformation(c.driver.rangeChunks))
	case protocol.PlayerPosition:
		number, at := fields.Teleport()
		c.send(protocol.ConfirmTeleport(number))
		c.observer.Moved(position(at))
	case protocol.SystemChat:
		c.heard(fields.Text())
	case protocol.BlockUpdate:
		block, state := fields.Block()
		c.observer.NodeIs(block, state == air, "the block's update arrived")
	case protocol.PlayerInfoUpdate:
		for player, name := range fields.Added() {
			c.names[player] = name
		}
	case protocol.PlayerInfoRemove:
		for _, player := range fields.Removed() {
			if name, known := c.names[player]; known {
				delete(c.names, player)
				c.observer.Gone(name)
			}
		}
	default:
		c.chunk(packet.Number, fields)
	}
}

// chunk keeps the books of the chunks that the player has. The server's word counts, and a chunk that comes late, after the player
// has left its surroundings, does not.
func (c *connection) chunk(number protocol.Number, fields *protocol.Fields) {
	near := func(at chunk) bool { return within(at, c.center, c.driver.rangeChunks+beyondRange) }
	switch number {
	case protocol.SetChunkCenter:
		c.center = fields.Center()
		c.chunks.Drop(func(held chunk) bool { return !near(held) })
	case protocol.LevelChunk:
		c.observer.Terrain()
		if arrived := chunk(fields.Chunk()); near(arrived) {
			c.chunks.Arrived(arrived)
		}
	case protocol.ForgetLevelChunk:
		forgotten := chunk(fields.ForgottenChunk())
		c.chunks.Drop(func(held chunk) bool { return held == forgotten })
	case protocol.ChunkBatchFinished:
		c.send(protocol.ChunkBatchReceived(chunksPerTick))
	}
}

// heard passes on an answer to a command.
func (c *connection) heard(text string) {
	if reason, rejected := strings.CutPrefix(text, refusal); rejected {
		c.observer.Refused(reason)
	} else {
		c.observer.Heard(text)
	}
}
