package bedrock

import (
	"strings"

	"github.com/sandertv/gophertunnel/minecraft/protocol"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"

	"tickdisk/players/bedrock/internal/client"
	"tickdisk/players/internal/play"
)

// Dragonfly numbers the states of blocks itself, in a sorted list. This is the number of air in version 0.10.10. With another
// number, no dig would complete.
const air = 12530

// Receive acts on what came from the server. Packets of the game wait until the player has spawned.
func (c *connection) Receive(arrival play.Arrival) {
	switch content := arrival.Content.(type) {
	case error:
		c.end("%w", content)
	case *packet.Disconnect:
		c.end("the server disconnected the player: %s", content.Message)
	case client.Spawned:
		c.spawn(content)
	case packet.Packet:
		if c.spawned {
			c.handle(content)
		} else {
			c.early = append(c.early, arrival)
		}
	}
}

func (c *connection) spawn(spawned client.Spawned) {
	c.spawned, c.self, c.unique = true, spawned.Game.EntityRuntimeID, spawned.Game.EntityUniqueID
	for _, arrival := range c.early {
		c.handle(arrival.Content.(packet.Packet))
	}
	c.early = nil
	if least := leastRange(c.driver.radiusChunks); c.granted < least {
		c.end("the server grants a range of %d chunks, and joins need %d; raise the server's chunk radius", c.granted, least)
		return
	}
	c.observer.Moved(position(spawned.Game.PlayerPosition))
}

func (c *connection) handle(received packet.Packet) {
	if c.left {
		return
	}
	switch p := received.(type) {
	case *packet.ChunkRadiusUpdated:
		c.granted = int(p.ChunkRadius)
	case *packet.MovePlayer:
		if p.EntityRuntimeID == c.self {
			c.observer.Moved(position(p.Position))
		}
	case *packet.LevelChunk:
		if p.SubChunkCount == protocol.SubChunkRequestModeLimited {
			c.client.Send(subChunkRequest(p))
		} else {
			c.arrived(p.Position)
		}
	case *packet.SubChunk:
		if hasContent(p) {
			c.arrived(protocol.ChunkPos{p.Position[0], p.Position[2]})
		}
	case *packet.UpdateBlock:
		if p.Layer == 0 {
			node := play.Node{int(p.Position[0]), int(p.Position[1]), int(p.Position[2])}
			c.observer.NodeIs(node, p.NewBlockRuntimeID == air, "the block's update arrived")
		}
	case *packet.CommandOutput:
		c.answered(p)
	case *packet.PlayerList:
		c.playerList(p)
	}
}

// arrived adds a chunk, unless the player has left its surroundings in the meantime.
func (c *connection) arrived(chunk protocol.ChunkPos) {
	c.observer.Terrain()
	if !forgotten(chunk, c.center, c.granted) {
		c.chunks.Arrived(chunk)
	}
}

// answered passes on the answer to the last command. An answer without a message is no refusal, and says nothing.
func (c *connection) answered(output *packet.CommandOutput) {
	if output.CommandOrigin.UUID != c.command {
		return
	}
	var refusals []string
	for _, m := range output.OutputMessages {
		if m.Success {
			c.observer.Heard(m.Message)
		} else {
			refusals = append(refusals, strings.Join(append([]string{m.Message}, m.Parameters...), " "))
		}
	}
	if len(refusals) > 0 {
		c.observer.Refused(strings.Join(refusals, "; "))
	}
}

// playerList learns the names of players, and passes on who has left. A list of those who left has no names.
func (c *connection) playerList(list *packet.PlayerList) {
	for _, entry := range list.Entries {
		if list.ActionType == packet.PlayerListActionAdd {
			c.names[entry.UUID] = entry.Username
		} else if name, known := c.names[entry.UUID]; known {
			delete(c.names, entry.UUID)
			c.observer.Gone(name)
		}
	}
}
