package terrain

import (
	"testing"

	"github.com/df-mc/dragonfly/server/block"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/chunk"
)

func TestTerrainFollowsFromTheSeed(t *testing.T) {
	at := world.ChunkPos{-3, 7}
	encoded := func(seed int64, position world.ChunkPos) string {
		data := chunk.Encode(New(seed).Chunk(position), chunk.DiskEncoding)
		all := string(data.Biomes)
		for _, part := range data.SubChunks {
			all += string(part)
		}
		return all
	}
	if encoded(5, at) != encoded(5, at) {
		t.Error("the same seed made two different chunks")
	}
	if encoded(5, at) == encoded(6, at) {
		t.Error("another seed made the same chunk")
	}
	if encoded(5, at) == encoded(5, world.ChunkPos{-3, 8}) {
		t.Error("two positions have the same chunk")
	}
}

func TestTheGroundIsGentleGrassUnderAir(t *testing.T) {
	terrain := New(1)
	made := terrain.Chunk(world.ChunkPos{-1, 0})
	kinds := map[uint32]bool{}
	for x := range 16 {
		for z := range 16 {
			ground := terrain.Ground(x-16, z)
			if next := terrain.Ground(x-15, z); next < ground-2 || next > ground+2 {
				t.Errorf("the ground has a step from %d to %d at x=%d, z=%d", ground, next, x-16, z)
			}
			if at := made.Block(uint8(x), int16(ground), uint8(z), 0); at != world.BlockRuntimeID(block.Grass{}) {
				t.Errorf("the ground at %d, %d is block %d instead of grass", x-16, z, at)
			}
			if at := made.Block(uint8(x), int16(ground+1), uint8(z), 0); at != world.BlockRuntimeID(block.Air{}) {
				t.Errorf("above the ground at %d, %d is block %d instead of air", x-16, z, at)
			}
			for y := -64; y <= ground; y++ {
				kinds[made.Block(uint8(x), int16(y), uint8(z), 0)] = true
			}
		}
	}
	if len(kinds) < 15 {
		t.Errorf("the chunk has only %d kinds of blocks, which compresses away", len(kinds))
	}
}

func TestNoiseIsSmoothOnBothSidesOfTheOrigin(t *testing.T) {
	n := noise{9}
	least, most := 1.0, 0.0
	for x := -200; x < 200; x++ {
		now, next := n.at(x, 0, 5, 16), n.at(x+1, 0, 5, 16)
		if step := next - now; step > 0.1 || step < -0.1 {
			t.Errorf("the noise jumps from %g to %g at %d", now, next, x)
		}
		least, most = min(least, now), max(most, now)
	}
	if least < 0 || most > 1 || most-least < 0.5 {
		t.Errorf("the noise goes from %g to %g", least, most)
	}
}
