package luanti

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"tickdisk/players/internal/area"
	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/udp"
)

const (
	readPause     = 100 * time.Millisecond // after a failed read, so that an error that stays does not take a processor
	helloRepeatNS = 500e6                  // The transport does not repeat the first hello.
)

type phase int

const (
	connecting phase = iota
	loading
	ready // has told the server so, and waits for its position
	present
	leaving
)

// connection is one player's connection. The socket is read in a goroutine of its own, and everything else happens in the player's
// goroutine.
type connection struct {
	driver   *Driver
	address  string
	name     string
	observer play.Observer

	transport *transport
	socket    *net.UDPConn
	arrivals  chan play.Arrival
	done      chan struct{}
	failure   atomic.Pointer[error] // of the last read that failed

	phase       phase
	nextHelloNS int64
	login       *login
	position    [3]float64
	blocks      *area.Set[blockPosition]
	nodes       nodeReader
}

// Open sends the first message of a join.
func (d *Driver) Open(address, name string, observer play.Observer) (play.Connection, error) {
	socket, err := udp.Dial(address)
	if err != nil {
		return nil, err
	}
	nowNS := monotonic.Now()
	c := &connection{
		driver: d, address: address, name: name, observer: observer, socket: socket, arrivals: make(chan play.Arrival, 256),
		done: make(chan struct{}), nextHelloNS: nowNS, blocks: area.New[blockPosition](),
	}
	// A datagram that the kernel does not take counts as lost. The transport repeats it if it is reliable.
	c.transport = newTransport(nowNS, func(data []byte) { _, _ = socket.Write(data) }, c.handle)
	go c.read(socket)
	// An empty reliable message makes the server answer with the player's identity on this connection.
	c.transport.Send(0, true, []byte{0, 0}, nowNS)
	return c, nil
}

func (c *connection) read(source io.Reader) {
	buffer := make([]byte, 1<<16)
	for {
		size, err := source.Read(buffer)
		if err != nil {
			c.failure.Store(&err)
			select {
			case <-time.After(readPause):
				continue
			case <-c.done:
				return
			}
		}
		select {
		case c.arrivals <- play.Arrival{Content: append([]byte(nil), buffer[:size]...), ReceivedNS: monotonic.Now()}:
		case <-c.done:
			return
		}
	}
}

// Arrivals returns the channel of the datagrams.
func (c *connection) Arrivals() <-chan play.Arrival { return c.arrivals }

// Receive takes a datagram.
func (c *connection) Receive(arrival play.Arrival) {
	c.transport.Receive(arrival.Content.([]byte), arrival.ReceivedNS)
}

// Advance repeats what the server has not acknowledged.
func (c *connection) Advance(nowNS int64) {
	c.transport.Advance(nowNS)
	if c.phase == connecting && c.transport.peerID != 0 && nowNS >= c.nextHelloNS {
		c.nextHelloNS = nowNS + helloRepeatNS
		c.transport.Send(1, false, helloMessage(c.name), nowNS)
	}
}

// Move sends the player's position.
func (c *connection) Move(stance play.Stance, nowNS int64) {
	c.sendPosition(stance, nowNS)
	c.forgetFarBlocks(nowNS)
}

// Stand sends the player's position and reminds the server that the player waits. A server that finds nothing more to send does
// not look again for 2 s, but a message about a dropped block ends that pause. The wait therefore measures loading, and not the
// pause.
func (c *connection) Stand(stance play.Stance, nowNS int64) {
	c.sendPosition(play.Stance{Position: stance.Position}, nowNS)
	never := blockOf(c.position)
	never[1] += int16(c.keepBlocks() + 1) // beyond the blocks that the server sends
	c.tellBlocks(toServerDeletedBlocks, []blockPosition{never}, nowNS)
}

func (c *connection) sendPosition(stance play.Stance, nowNS int64) {
	c.position = stance.Position
	c.transport.Send(0, false, positionMessage(stance, c.driver.rangeBlocks), nowNS)
}

// Expect begins to wait for the blocks around a position.
func (c *connection) Expect(position [3]float64, nowNS int64) (missing, pieces int) {
	c.position = position
	c.forgetFarBlocks(nowNS)
	box := c.driver.radius().around(blockOf(position))
	return c.blocks.Expect(box), len(box)
}

// Missing returns how many blocks have not arrived yet.
func (c *connection) Missing() int { return c.blocks.Missing() }

// Command sends a command as a chat message.
func (c *connection) Command(text string, nowNS int64) {
	c.transport.Send(0, true, chatMessage("/"+text), nowNS)
}

// Place places the item that the player holds.
func (c *connection) Place(node play.Node, stance play.Stance, nowNS int64) {
	c.interact(interactPlace, node, stance, nowNS)
}

// Dig removes a node.
func (c *connection) Dig(node play.Node, stance play.Stance, nowNS int64) {
	c.interact(interactStartDigging, node, stance, nowNS)
	c.interact(interactDug, node, stance, nowNS)
}

func (c *connection) interact(interaction uint8, node play.Node, stance play.Stance, nowNS int64) {
	c.transport.Send(0, true, interactMessage(interaction, node, stance, c.driver.rangeBlocks), nowNS)
}

// Leave disconnects the player.
func (c *connection) Leave(nowNS int64) {
	c.phase = leaving
	c.transport.Disconnect(nowNS)
}

// Progress describes how far a join came.
func (c *connection) Progress() string {
	failure := c.failure.Load()
	switch {
	case c.phase == connecting && failure != nil && errors.Is(*failure, syscall.ECONNREFUSED):
		return "nothing listens at " + c.address
	case c.phase == connecting && failure != nil:
		return "nothing can be received from " + c.address + ": " + (*failure).Error()
	case c.phase == connecting && c.transport.counts.PacketsReceived == 0:
		return c.address + " does not answer"
	default:
		return "the server did not let the player in"
	}
}

// Closed returns why the server ended the connection.
func (c *connection) Closed() error { return c.transport.closed }

// Close closes the socket and returns the counts.
func (c *connection) Close() report.Network {
	close(c.done)
	counts := c.transport.counts
	if dropped, err := udp.Dropped(c.socket); err == nil { // The kernel has had this count since Linux 4.12.
		counts.PacketsDropped = dropped
	}
	c.socket.Close()
	return counts
}

// keepBlocks returns the distance, in blocks, beyond which blocks are dropped. The server sends no block so far from a walking
// player.
func (c *connection) keepBlocks() int { return c.driver.rangeBlocks + 3 }

func (c *connection) forgetFarBlocks(nowNS int64) {
	center := blockOf(c.position)
	far := c.blocks.Drop(func(block blockPosition) bool { return !within(block, center, c.keepBlocks()) })
	c.tellBlocks(toServerDeletedBlocks, far, nowNS)
}

func (c *connection) tellBlocks(command uint16, blocks []blockPosition, nowNS int64) {
	for _, m := range blocksMessages(command, blocks) {
		c.transport.Send(2, true, m, nowNS)
	}
}
