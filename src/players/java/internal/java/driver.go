// Package java lets players join a Java edition server (Minestom for Minecraft 1.21.11).
package java

import (
	"flag"
	"fmt"
	"net"
	"strconv"
	"time"

	"tickdisk/players/internal/area"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/trace"
	"tickdisk/players/java/internal/client"
	"tickdisk/players/java/internal/protocol"
)

// Driver has the options of players of a Java edition server.
type Driver struct {
	radiusChunks int // of the square of chunks that must have arrived
	rangeChunks  int // up to which the server is asked to send chunks
}

const (
	period      = 50 * time.Millisecond // A tick of the game is as long.
	leastRange  = 2                     // A server takes a smaller range for this one.
	mostRange   = 32
	beyondRange = 1 // so many chunks farther than the range, the server sends chunks
)

// Traits returns what the players have in common.
func (d *Driver) Traits() play.Traits {
	return play.Traits{
		Name: "java",
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
	flags.IntVar(&d.rangeChunks, "wanted-range-blocks", leastRange, "view distance in chunks for which players ask the server")
}

// Check returns an error if the server could never complete a join or a teleport under these options.
func (d *Driver) Check() error {
	if d.rangeChunks < leastRange || d.rangeChunks > mostRange {
		return fmt.Errorf("the wanted range must be %d to %d chunks, not %d", leastRange, mostRange, d.rangeChunks)
	}
	if most := d.rangeChunks + beyondRange; d.radiusChunks < 0 || d.radiusChunks > most {
		return fmt.Errorf("the radius must be 0 to %d chunks, not %d: the server sends nothing farther than %d beyond the wanted range", most,
			d.radiusChunks, beyondRange)
	}
	return nil
}

// Completion describes when an action of each kind counts as completed.
func (d *Driver) Completion() string {
	return fmt.Sprintf("join and teleport: all %d chunks within %d of the player's chunk have arrived; place and dig: the server's update of "+
		"the block shows the change; every command: the server's answer; walk: the first position is sent; leave: the server "+
		"has announced it to the players that stay", len(around(chunk{}, d.radiusChunks)), d.radiusChunks)
}

// Open begins to join the server.
func (d *Driver) Open(address, name string, observer play.Observer) (play.Connection, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%s is not an address: %w", address, err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s is not an address: %w", address, err)
	}
	hello := [][]byte{protocol.Handshake(host, uint16(port)), protocol.LoginStart(name)}
	return newConnection(d, address, hello, client.Open(address), observer), nil
}

func newConnection(d *Driver, address string, hello [][]byte, opened server, observer play.Observer) *connection {
	return &connection{
		driver: d, address: address, hello: hello, client: opened, observer: observer, chunks: area.New[chunk](),
		names: map[protocol.UUID]string{},
	}
}
