// Package terrain makes the content of chunks from a seed and nothing else: gentle hills of grass over rock with patches and ores.
package terrain

import (
	_ "unsafe" // The go:linkname below needs it.

	"github.com/df-mc/dragonfly/server/block"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/chunk"
)

const (
	meanHeight  = 64
	soilBlocks  = 4 // Grass and the dirt under it.
	slateHeight = 0 // Rock below this height is deepslate.
	cellBlocks  = 4 // The edge of the cube in which one kind of ore lies.
)

// Terrain is all terrain of one seed.
type Terrain struct {
	noise                                         noise
	air, bedrock, grass, dirt, stone, slate, tuff uint32
	patches                                       [4]uint32
	ores                                          []ore
}

type ore struct {
	inStone, inSlate uint32
	below            int // The ore lies below this height.
}

// finaliseBlockRegistry gives the blocks their numbers. Dragonfly itself only calls it when a server is made, and a world is generated
// without one.
//
//go:linkname finaliseBlockRegistry github.com/df-mc/dragonfly/server/world.finaliseBlockRegistry
func finaliseBlockRegistry()

// New returns the terrain of a seed.
func New(seed int64) *Terrain {
	finaliseBlockRegistry()
	id := world.BlockRuntimeID
	stone, slate := block.StoneOre(), block.DeepslateOre()
	return &Terrain{
		noise:   noise{uint64(seed)},
		air:     id(block.Air{}),
		bedrock: id(block.Bedrock{}),
		grass:   id(block.Grass{}),
		dirt:    id(block.Dirt{}),
		stone:   id(block.Stone{}),
		slate:   id(block.Deepslate{Type: block.NormalDeepslate()}),
		tuff:    id(block.Tuff{}),
		patches: [4]uint32{id(block.Granite{}), id(block.Diorite{}), id(block.Andesite{}), id(block.Dirt{})},
		ores: []ore{
			{id(block.CoalOre{Type: stone}), id(block.CoalOre{Type: slate}), 128},
			{id(block.IronOre{Type: stone}), id(block.IronOre{Type: slate}), 72},
			{id(block.CopperOre{Type: stone}), id(block.CopperOre{Type: slate}), 96},
			{id(block.GoldOre{Type: stone}), id(block.GoldOre{Type: slate}), 32},
			{id(block.LapisOre{Type: stone}), id(block.LapisOre{Type: slate}), 64},
			{id(block.DiamondOre{Type: stone}), id(block.DiamondOre{Type: slate}), 16},
		},
	}
}

// Ground returns the height of the highest block at a position. The block above it is air.
func (t *Terrain) Ground(x, z int) int {
	hills := 16 * (t.noise.at(x, 0, z, 64) - 0.5)
	bumps := 4 * (t.noise.at(x, 1, z, 16) - 0.5)
	return meanHeight + int(hills+bumps)
}

// Chunk returns the chunk at a position that counts chunks.
func (t *Terrain) Chunk(position world.ChunkPos) *chunk.Chunk {
	made := chunk.New(t.air, world.Overworld.Range())
	lowest := world.Overworld.Range().Min()
	for column := range 16 * 16 {
		inX, inZ := column%16, column/16
		x, z := int(position.X())*16+inX, int(position.Z())*16+inZ
		ground := t.Ground(x, z)
		for y := lowest; y <= ground; y++ {
			made.SetBlock(uint8(inX), int16(y), uint8(inZ), 0, t.block(x, y, z, y-lowest, ground-y))
		}
	}
	made.Compact()
	return made
}

// block returns the block at a position that lies so many blocks above the lowest block and below the ground.
func (t *Terrain) block(x, y, z, height, depth int) uint32 {
	switch {
	case height <= int(t.noise.hash(x, y, z)%4): // Bedrock has a rough upper side.
		return t.bedrock
	case depth == 0:
		return t.grass
	case depth < soilBlocks:
		return t.dirt
	}
	inSlate := y < slateHeight
	if found, ok := t.ore(x, y, z); ok {
		if inSlate {
			return found.inSlate
		}
		return found.inStone
	}
	patch := t.noise.at(x, y, z, 8)
	switch {
	case inSlate && patch < 0.25:
		return t.tuff
	case inSlate:
		return t.slate
	case patch < 0.2:
		return t.patches[0]
	case patch > 0.8:
		return t.patches[1]
	case patch > 0.45 && patch < 0.5:
		return t.patches[2]
	case patch > 0.6 && patch < 0.62:
		return t.patches[3]
	}
	return t.stone
}

// ore returns the ore at a position. One cube in four holds an ore, in a quarter of its blocks.
func (t *Terrain) ore(x, y, z int) (ore, bool) {
	cube := t.noise.hash(floorDivide(x, cellBlocks), floorDivide(y, cellBlocks)+1<<20, floorDivide(z, cellBlocks))
	if cube%4 != 0 || t.noise.hash(x, y, z)>>8%4 != 0 {
		return ore{}, false
	}
	found := t.ores[cube>>8%uint64(len(t.ores))]
	return found, y < found.below
}
