// Package luanti lets players join a Luanti server (5.6.1, protocol 41).
package luanti

import (
	"flag"
	"fmt"
	"time"

	"tickdisk/players/internal/play"
	"tickdisk/players/internal/trace"
)

// Driver has the options of players of a Luanti server.
type Driver struct {
	horizontal  int // radius of the box of blocks that must have arrived
	vertical    int // the same, up and down, or sameRadius
	rangeBlocks int // distance, in blocks, up to which the server is asked to send terrain
}

const (
	sameRadius = -1
	mostRange  = 255 // It is one byte in the protocol.
)

// Traits returns what the players have in common.
func (d *Driver) Traits() play.Traits {
	return play.Traits{
		Name: "luanti",
		Kinds: []trace.Kind{
			trace.Join, trace.Walk, trace.Teleport, trace.Place, trace.Dig, trace.Ping, trace.Marker, trace.Burn, trace.Look,
			trace.Attack, trace.NPC, trace.Kill, trace.Leave,
		},
		UpdatePeriod: 100 * time.Millisecond,
		Terrain:      "blocks",
		PlaceDepth:   1,
	}
}

// Flags adds the options to the command line.
func (d *Driver) Flags(flags *flag.FlagSet) {
	flags.IntVar(&d.horizontal, "radius-blocks", 1, "joins and teleports wait for the map blocks within this distance")
	flags.IntVar(&d.vertical, "radius-vertical-blocks", sameRadius, "the same distance, up and down (-1 means as radius-blocks)")
	flags.IntVar(&d.rangeBlocks, "wanted-range-blocks", 1, "how far players ask the server for terrain; it sends one block more")
}

func (d *Driver) radius() radius {
	if d.vertical == sameRadius {
		return radius{d.horizontal, d.horizontal}
	}
	return radius{d.horizontal, d.vertical}
}

// Check returns an error if the server could never complete a join or a teleport under these options.
func (d *Driver) Check() error {
	r := d.radius()
	if min(r.horizontal, r.vertical) < 0 || max(r.horizontal, r.vertical) > farthestRadius {
		return fmt.Errorf("the radius must be 0 to %d blocks, not %d and %d: the server leaves out farther blocks of air", farthestRadius,
			r.horizontal, r.vertical)
	}
	if least := r.leastRange(); d.rangeBlocks < least || d.rangeBlocks > mostRange {
		return fmt.Errorf("the wanted range must be %d to %d blocks, not %d: the server sends nothing beyond it", least, mostRange,
			d.rangeBlocks)
	}
	return nil
}

// Completion describes when an action of each kind counts as completed.
func (d *Driver) Completion() string {
	r := d.radius()
	return fmt.Sprintf("join and teleport: all %d map blocks within %d (horizontally) and %d (vertically) of the player's block have "+
		"arrived; place and dig: the server's update of the node or of its block shows the change; every command: the "+
		"server's answer; walk: the first position update is sent; leave: the server has announced it to the players that stay",
		r.blocks(), r.horizontal, r.vertical)
}
