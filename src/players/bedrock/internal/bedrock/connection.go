package bedrock

import (
	"fmt"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/google/uuid"
	"github.com/sandertv/gophertunnel/minecraft/protocol"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"

	"tickdisk/players/internal/area"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
)

const (
	hoverHeight = 2    // blocks from a player's position, which is a place, up to its feet
	eyeHeight   = 1.62 // blocks from the feet to the position in the protocol
	faceUp      = 1
	mouse       = 1 // as the mode of input
)

// server is what a connection needs of package client.
type server interface {
	Arrivals() <-chan play.Arrival
	Answered() bool
	Send(sent packet.Packet)
	Leave()
	Close() report.Network
}

// connection is one player's connection.
type connection struct {
	driver   *Driver
	address  string
	client   server
	observer play.Observer

	spawned bool
	left    bool
	closed  error
	early   []play.Arrival // packets that arrived before the player had spawned
	self    uint64
	unique  int64
	granted int // range in chunks that the server grants
	ticks   uint64
	center  protocol.ChunkPos
	chunks  *area.Set[protocol.ChunkPos]
	names   map[uuid.UUID]string
	command uuid.UUID
}

// eyes returns where the protocol puts a player. A block reaches from its coordinates to the next, and not half a block each way.
func eyes(position [3]float64) mgl32.Vec3 {
	return mgl32.Vec3{float32(position[0] + 0.5), float32(position[1] + hoverHeight + eyeHeight), float32(position[2] + 0.5)}
}

func position(eyes mgl32.Vec3) [3]float64 {
	return [3]float64{float64(eyes[0]) - 0.5, float64(eyes[1]) - hoverHeight - eyeHeight, float64(eyes[2]) - 0.5}
}

// Arrivals returns the channel of what came from the server.
func (c *connection) Arrivals() <-chan play.Arrival { return c.client.Arrivals() }

// Advance does nothing, because RakNet has its own goroutine.
func (c *connection) Advance(int64) {}

// Move sends the player's position.
func (c *connection) Move(stance play.Stance, _ int64) {
	c.moveTo(chunkOf(stance.Position))
	c.ticks++
	velocity := stance.Velocity
	delta := mgl32.Vec3{float32(velocity[0]), float32(velocity[1]), float32(velocity[2])}.Mul(float32(period.Seconds()))
	c.client.Send(&packet.PlayerAuthInput{
		Position: eyes(stance.Position), Delta: delta, InputData: protocol.NewBitset(packet.PlayerAuthInputBitsetSize), InputMode: mouse,
		Tick: c.ticks,
	})
}

// Stand sends the player's position. The server sends chunks without a reminder.
func (c *connection) Stand(stance play.Stance, nowNS int64) {
	c.Move(play.Stance{Position: stance.Position}, nowNS)
}

// moveTo forgets the chunks that the server would send again.
func (c *connection) moveTo(center protocol.ChunkPos) {
	if center == c.center {
		return
	}
	c.center = center
	c.chunks.Drop(func(chunk protocol.ChunkPos) bool { return forgotten(chunk, center, c.granted) })
}

// Expect begins to wait for the chunks around a position.
func (c *connection) Expect(at [3]float64, _ int64) (missing, pieces int) {
	c.moveTo(chunkOf(at))
	square := around(c.center, c.driver.radiusChunks)
	return c.chunks.Expect(square), len(square)
}

// Missing returns how many chunks have not arrived yet.
func (c *connection) Missing() int { return c.chunks.Missing() }

// Command sends a command. Its answer carries the same UUID.
func (c *connection) Command(text string, _ int64) {
	c.command = uuid.New()
	origin := protocol.CommandOrigin{Origin: protocol.CommandOriginPlayer, UUID: c.command, PlayerUniqueID: c.unique}
	c.client.Send(&packet.CommandRequest{CommandLine: "/" + text, CommandOrigin: origin, Version: "1"})
}

// Place clicks on the block below the node, with the stone that the player holds.
func (c *connection) Place(node play.Node, stance play.Stance, _ int64) {
	c.use(protocol.UseItemActionClickBlock, play.Node{node[0], node[1] - 1, node[2]}, stance)
}

// Dig breaks a block, which takes no time in creative mode.
func (c *connection) Dig(node play.Node, stance play.Stance, _ int64) {
	c.use(protocol.UseItemActionBreakBlock, node, stance)
}

func (c *connection) use(action uint32, node play.Node, stance play.Stance) {
	c.client.Send(&packet.InventoryTransaction{TransactionData: &protocol.UseItemTransactionData{
		ActionType: action, BlockPosition: protocol.BlockPos{int32(node[0]), int32(node[1]), int32(node[2])}, BlockFace: faceUp,
		Position: eyes(stance.Position), ClickedPosition: mgl32.Vec3{0.5, 1, 0.5},
	}})
}

// Leave ends the connection in order.
func (c *connection) Leave(int64) {
	c.left = true
	c.client.Leave()
}

// Progress describes how far a join came.
func (c *connection) Progress() string {
	if !c.client.Answered() {
		return c.address + " does not answer"
	}
	return "the server did not let the player in"
}

// Closed returns why the server ended the connection. After a leave, it ends the connection because it was asked to.
func (c *connection) Closed() error {
	if c.left {
		return nil
	}
	return c.closed
}

// Close ends the connection and returns the counts.
func (c *connection) Close() report.Network { return c.client.Close() }

// end notes why the connection ends. Only the first reason counts.
func (c *connection) end(format string, values ...any) {
	if c.closed == nil {
		c.closed = fmt.Errorf(format, values...)
	}
}
