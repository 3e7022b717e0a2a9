// Package play plays a trace of players on a game server of any kind. A driver speaks the server's protocol.
//
// The load is open loop: the trace says when an action is due, however fast the server is. Each player runs its actions strictly
// one after another, and has a connection of its own.
package play

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"time"

	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// Driver lets players join one kind of server.
//
// Positions are in nodes, and the centre of a node has whole coordinates. The position of a player is the place to which a teleport
// would bring it, wherever the server then puts the player's feet.
type Driver interface {
	Traits() Traits

	// Flags adds the driver's own options to the command line.
	Flags(flags *flag.FlagSet)

	// Check returns an error if the server could never complete an action under these options.
	Check() error

	// Completion describes when an action of each kind counts as completed.
	Completion() string

	// Open begins a connection and returns at once. The connection reports to the observer from Receive alone.
	Open(address, name string, observer Observer) (Connection, error)
}

// Traits are what the players of a driver have in common.
type Traits struct {
	Name         string // on the command line
	Kinds        []trace.Kind
	UpdatePeriod time.Duration // between two positions that a player sends
	Terrain      string        // what the pieces are called in which the server sends terrain, such as blocks
	PlaceDepth   float64       // how far below its position a player places a node, if the trace does not say where
}

// Connection is a player's connection to the server. All methods are called in the goroutine of the player, and none blocks.
type Connection interface {
	// Arrivals returns the channel of what came from the server. Receive acts on an arrival.
	Arrivals() <-chan Arrival
	Receive(arrival Arrival)

	// Advance does what the protocol itself has to do in every update period.
	Advance(nowNS int64)

	// Move tells the server where the player is. Stand tells it that the player stands still and waits for terrain.
	Move(stance Stance, nowNS int64)
	Stand(stance Stance, nowNS int64)

	// Expect begins to wait for the terrain around a position. It returns how many pieces are missing, of how many. Missing says how
	// many of them have not arrived yet.
	Expect(position [3]float64, nowNS int64) (missing, pieces int)
	Missing() int

	// Command sends a command, without a slash. Place and Dig change a node.
	Command(text string, nowNS int64)
	Place(node Node, stance Stance, nowNS int64)
	Dig(node Node, stance Stance, nowNS int64)

	// Leave tells the server that the player leaves. It is called again until the leave is complete.
	Leave(nowNS int64)

	// Progress describes how far a join came that did not let the player in. Closed returns why the server ended the connection.
	Progress() string
	Closed() error

	// Close ends the connection and returns the counts of its traffic.
	Close() report.Network
}

// Observer is told what the server shows to a player.
type Observer interface {
	// Moved says that the player is in the game, and that the server has put it at a position.
	Moved(position [3]float64)

	// Terrain says that a piece of terrain came.
	Terrain()

	// Awaited returns the node that the player waits to see placed or dug.
	Awaited() (node Node, waiting bool)

	// NodeIs says whether a node is air. how says what showed it.
	NodeIs(node Node, air bool, how string)

	// Heard passes on an answer to a command, and Refused the reason why the server rejected one.
	Heard(text string)
	Refused(reason string)

	// Gone says that another player has left the game.
	Gone(name string)
}

// Arrival is a piece of what came from the server, such as a datagram.
type Arrival struct {
	Content    any
	ReceivedNS int64
}

// Stance is a player's position and its velocity in nodes per second.
type Stance struct{ Position, Velocity [3]float64 }

// Node is a position of a node.
type Node [3]int

// NodeAt returns the node that holds a point. A node reaches half a node to each side of its position.
func NodeAt(position [3]float64) (node Node) {
	for axis, part := range position {
		node[axis] = int(math.Floor(part + 0.5))
	}
	return node
}

// CheckKinds returns an error if the driver's players cannot do an action of the trace. The error names the trace and the line.
func CheckKinds(driver Driver, actions []trace.Action, name string) error {
	traits := driver.Traits()
	for i, action := range actions { // Every line of a trace is one action.
		if !slices.Contains(traits.Kinds, action.Kind) {
			return fmt.Errorf("%s, line %d: players of %s cannot %s; leave the action out", name, i+1, traits.Name, action.Kind)
		}
	}
	return nil
}
