package serve

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/df-mc/dragonfly/server/block"
	"github.com/df-mc/dragonfly/server/block/cube"
	"github.com/df-mc/dragonfly/server/cmd"
	"github.com/df-mc/dragonfly/server/player"
	"github.com/df-mc/dragonfly/server/world"

	"tickdisk/dragonfly/internal/places"
	"tickdisk/dragonfly/internal/record"
)

// registerCommands adds the commands by which clients and experiments make the server do something. They run on the world's goroutine.
func registerCommands(markers string, out *record.Writer, answers held, terrain *stored) {
	add := func(name, description string, run cmd.Runnable) { cmd.Register(cmd.New(name, description, nil, run)) }
	add("tickdisk_ping", "Answers `pong <n>`", ping{})
	add("tickdisk_teleport", "Moves the player above this place", teleport{held: answers})
	add("tickdisk_marker", "Reads the world's marker file <n> and answers `marker <n> <bytes>`", marker{folder: markers, record: out})
	add("tickdisk_look", "Answers `look <x> <y> <z> <kind> <name>`, where the kind is `placed`, `air` or `other`", look{stored: terrain})
	add("tickdisk_attack", "Hits player <n> once and answers `attacked <n> <health>`", attack{})
	add("tickdisk_npc", "Puts NPC <n> beside the player and answers `npc <n>`", putNPC{})
	add("tickdisk_kill", "Hits NPC <n> until it is dead and answers `killed <n> <hits>`", kill{})
	add("tickdisk_burn", "Keeps the world's goroutine busy for so many milliseconds", burn{record: out})
}

type ping struct{ N string }

// Run answers the number that was sent.
func (p ping) Run(_ cmd.Source, answer *cmd.Output, _ *world.Tx) { answer.Printf("pong %s", p.N) }

type teleport struct {
	X, Y, Z float64
	held    held
}

// Run moves the player that asked.
func (t teleport) Run(source cmd.Source, answer *cmd.Output, _ *world.Tx) {
	moved, ok := source.(*player.Player)
	if !ok {
		answer.Error("only players can be teleported")
		return
	}
	place := places.Place{X: int(math.Floor(t.X)), Y: int(math.Floor(t.Y)), Z: int(math.Floor(t.Z))}
	move := func(_ *world.Tx, p *player.Player) { p.Teleport(place.Feet()) }
	if !t.held.back(moved, move) {
		move(nil, moved)
	}
}

type marker struct {
	N      uint
	folder string
	record *record.Writer
}

// Run reads a file that nothing has read before, so the read reaches the device between the two recorded times.
func (m marker) Run(_ cmd.Source, answer *cmd.Output, _ *world.Tx) {
	name := strconv.FormatUint(uint64(m.N), 10)
	before := record.Now()
	content, err := os.ReadFile(filepath.Join(m.folder, name))
	after := record.Now()
	if err != nil {
		answer.Errorf("no marker file %s", name)
		return
	}
	m.record.Marker("read"+name, before, after)
	answer.Printf("marker %s %d", name, len(content))
}

type look struct {
	X, Y, Z int
	stored  *stored
}

// Run says which block is at a position, whose chunk the world loads if it has to. A chunk that is not stored, or that cannot be read,
// is empty in the world, and is therefore told apart from air.
func (l look) Run(_ cmd.Source, answer *cmd.Output, tx *world.Tx) {
	at := cube.Pos{l.X, l.Y, l.Z}
	if at.OutOfBounds(tx.Range()) {
		answer.Errorf("%d %d %d is above or below the world", l.X, l.Y, l.Z)
		return
	}
	found, kind := tx.Block(at), "other"
	if err := l.stored.failure(world.ChunkPos{int32(l.X >> 4), int32(l.Z >> 4)}); err != nil {
		answer.Errorf("the terrain at %d %d %d could not be read: %s", l.X, l.Y, l.Z, err)
		return
	}
	switch found {
	case stone:
		kind = "placed"
	case block.Air{}:
		kind = "air"
	}
	name, _ := found.EncodeBlock()
	answer.Printf("look %d %d %d %s %s", l.X, l.Y, l.Z, kind, name)
}

type burn struct {
	MS     uint
	record *record.Writer
}

// Run keeps the thread busy, as a plugin with a slow computation would.
func (b burn) Run(_ cmd.Source, answer *cmd.Output, _ *world.Tx) {
	before := record.Now()
	for end := before + int64(b.MS)*int64(time.Millisecond); record.Now() < end; {
	}
	b.record.Marker("burn", before, record.Now())
	answer.Printf("burnt %d", b.MS)
}
