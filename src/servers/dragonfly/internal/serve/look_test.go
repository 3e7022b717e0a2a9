package serve

import (
	"errors"
	"testing"

	"github.com/df-mc/dragonfly/server/block"
	"github.com/df-mc/dragonfly/server/block/cube"
	"github.com/df-mc/dragonfly/server/cmd"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/chunk"

	"tickdisk/dragonfly/internal/terrain"
)

// damaged has one chunk that cannot be read, until it is repaired.
type damaged struct {
	world.NopProvider
	terrain    *terrain.Terrain
	isRepaired bool
}

func (d *damaged) LoadColumn(at world.ChunkPos, _ world.Dimension) (*chunk.Column, error) {
	if at == (world.ChunkPos{1, 0}) && !d.isRepaired {
		return nil, errors.New("it is damaged")
	}
	return &chunk.Column{Chunk: d.terrain.Chunk(at)}, nil
}

func TestALookTellsBlocksAirAndFailuresApart(t *testing.T) {
	source := &damaged{terrain: terrain.New(1)}
	chunks := newStored(source)
	overworld := world.Config{Provider: chunks}.New()
	defer overworld.Close()
	looked := func(x, y, z int) string {
		answer := &cmd.Output{}
		<-overworld.Exec(func(tx *world.Tx) { look{X: x, Y: y, Z: z, stored: chunks}.Run(nil, answer, tx) })
		for _, said := range answer.Errors() {
			return "refused: " + said.Error()
		}
		return answer.Messages()[0].String()
	}
	<-overworld.Exec(func(tx *world.Tx) {
		tx.SetBlock(cube.Pos{1, 170, 2}, block.Stone{}, nil)
		tx.SetBlock(cube.Pos{1, 171, 2}, block.Stone{Smooth: true}, nil)
		tx.SetBlock(cube.Pos{-1, 171, -2}, block.Grass{}, nil)
	})
	for _, c := range []struct {
		at   cube.Pos
		want string
	}{
		{cube.Pos{1, 170, 2}, "look 1 170 2 placed minecraft:stone"},
		{cube.Pos{1, 171, 2}, "look 1 171 2 other minecraft:smooth_stone"},
		{cube.Pos{1, 172, 2}, "look 1 172 2 air minecraft:air"},
		{cube.Pos{-1, 171, -2}, "look -1 171 -2 other minecraft:grass_block"},
		{cube.Pos{16, 170, 0}, "refused: the terrain at 16 170 0 could not be read: it is damaged"},
		{cube.Pos{0, 400, 0}, "refused: 0 400 0 is above or below the world"},
	} {
		if got := looked(c.at[0], c.at[1], c.at[2]); got != c.want {
			t.Errorf("a look at %v says %q, wanted %q", c.at, got, c.want)
		}
	}
	source.isRepaired = true
	if got := looked(16, 170, 0); got != "look 16 170 0 air minecraft:air" {
		t.Errorf("after the repair a look says %q", got)
	}
}
