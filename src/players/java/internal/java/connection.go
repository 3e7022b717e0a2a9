package java

import (
	"fmt"

	"tickdisk/players/internal/area"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
	"tickdisk/players/java/internal/protocol"
)

const hoverHeight = 2 // blocks from a player's position, which is a place, up to its feet

// server is what a connection needs of package client.
type server interface {
	Arrivals() <-chan play.Arrival
	Answered() bool
	Compress()
	Send(packets ...[]byte) error
	Leave()
	Close() report.Network
}

// connection is one player's connection.
type connection struct {
	driver   *Driver
	address  string
	hello    [][]byte // what the player sends first
	client   server
	observer play.Observer

	left     bool
	closed   error
	last     protocol.Number // of the packets that arrived
	sequence int32           // number of the last change of a block
	center   chunk           // around which the server sends chunks
	chunks   *area.Set[chunk]
	names    map[protocol.UUID]string
}

// feet returns where the protocol puts a player. A block reaches from its coordinates to the next, and not half a block each way.
func feet(position [3]float64) [3]float64 {
	return [3]float64{position[0] + 0.5, position[1] + hoverHeight, position[2] + 0.5}
}

func position(feet [3]float64) [3]float64 {
	return [3]float64{feet[0] - 0.5, feet[1] - hoverHeight, feet[2] - 0.5}
}

// Arrivals returns the channel of what came from the server.
func (c *connection) Arrivals() <-chan play.Arrival { return c.client.Arrivals() }

// Advance does nothing, because the player answers the server at once.
func (c *connection) Advance(int64) {}

// Move sends the player's position. The protocol has no velocity.
func (c *connection) Move(stance play.Stance, _ int64) {
	c.send(protocol.Position(feet(stance.Position)), protocol.TickEnd())
}

// Stand sends the player's position. The server sends chunks without a reminder.
func (c *connection) Stand(stance play.Stance, nowNS int64) { c.Move(stance, nowNS) }

// Expect begins to wait for the chunks around a position.
func (c *connection) Expect(at [3]float64, _ int64) (missing, pieces int) {
	square := around(chunkOf(at), c.driver.radiusChunks)
	return c.chunks.Expect(square), len(square)
}

// Missing returns how many chunks have not arrived yet.
func (c *connection) Missing() int { return c.chunks.Missing() }

// Command sends a command.
func (c *connection) Command(text string, _ int64) { c.send(protocol.Command(text)) }

// Place clicks on the block below the node, with the stone that the player holds.
func (c *connection) Place(node play.Node, _ play.Stance, _ int64) {
	c.sequence++
	c.send(protocol.UseItemOn([3]int{node[0], node[1] - 1, node[2]}, c.sequence))
}

// Dig breaks a block.
func (c *connection) Dig(node play.Node, _ play.Stance, _ int64) {
	c.sequence++
	c.send(protocol.StartDigging(node, c.sequence))
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
	return fmt.Sprintf("the server did not let the player in, and its last packet was %s", c.last)
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

func (c *connection) send(packets ...[]byte) {
	if err := c.client.Send(packets...); err != nil {
		c.end("%w", err)
	}
}

// end notes why the connection ends. Only the first reason counts.
func (c *connection) end(format string, values ...any) {
	if c.closed == nil {
		c.closed = fmt.Errorf(format, values...)
	}
}
