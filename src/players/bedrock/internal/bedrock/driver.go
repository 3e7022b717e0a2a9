// Package bedrock lets players join a Bedrock server (Dragonfly 0.10.10, protocol 898).
package bedrock

import (
	"flag"
	"fmt"
	"time"

	"tickdisk/players/bedrock/internal/client"
	"tickdisk/players/internal/area"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/trace"

	"github.com/google/uuid"
	"github.com/sandertv/gophertunnel/minecraft/protocol"
)

// Driver has the options of players of a Bedrock server.
type Driver struct {
	radiusChunks int // of the square of chunks that must have arrived
	rangeChunks  int // up to which the server is asked to send chunks
}

const (
	period    = 50 * time.Millisecond // A tick of the game is as long.
	mostRange = 255                   // It is one byte in the protocol.
)

// Traits returns what the players have in common.
func (d *Driver) Traits() play.Traits {
	return play.Traits{
		Name: "bedrock",
		Kinds: []trace.Kind{
			trace.Join, trace.Walk, trace.Teleport, trace.Place, trace.Dig, trace.Ping, trace.Marker, trace.Burn, trace.Look,
			trace.Attack, trace.NPC, trace.Kill, trace.Leave,
		},
		UpdatePeriod: period,
		Terrain:      "chunks",
		PlaceDepth:   0, // The player hovers above its position.
	}
}

// Flags adds the options to the command line.
func (d *Driver) Flags(flags *flag.FlagSet) {
	flags.IntVar(&d.radiusChunks, "radius-blocks", 1, "joins and teleports wait for the chunks within this distance, in a square")
	flags.IntVar(&d.rangeChunks, "wanted-range-blocks", 2, "radius in chunks for which players ask the server, in a circle")
}

// Check returns an error if the server could never complete a join or a teleport under these options.
func (d *Driver) Check() error {
	if d.radiusChunks < 0 {
		return fmt.Errorf("the radius must be 0 chunks or more, not %d", d.radiusChunks)
	}
	if least := leastRange(d.radiusChunks); d.rangeChunks < least || d.rangeChunks > mostRange {
		return fmt.Errorf("the wanted range must be %d to %d chunks, not %d: the server sends nothing beyond it", least, mostRange,
			d.rangeChunks)
	}
	return nil
}

// Completion describes when an action of each kind counts as completed.
func (d *Driver) Completion() string {
	return fmt.Sprintf("join and teleport: all %d chunks within %d of the player's chunk have arrived, with their sub-chunks; place and dig: "+
		"the server's update of the block shows the change; every command: the server's answer; walk: the first position is "+
		"sent; leave: the server has announced it to the players that stay", len(around(protocol.ChunkPos{}, d.radiusChunks)), d.radiusChunks)
}

// Open begins to join the server.
func (d *Driver) Open(address, name string, observer play.Observer) (play.Connection, error) {
	opened, err := client.Open(address, name, d.rangeChunks)
	if err != nil {
		return nil, err
	}
	return newConnection(d, address, opened, observer), nil
}

func newConnection(d *Driver, address string, opened server, observer play.Observer) *connection {
	return &connection{
		driver: d, address: address, client: opened, observer: observer, chunks: area.New[protocol.ChunkPos](),
		names: map[uuid.UUID]string{},
	}
}
