package luanti

import "math"

// BlockPosition is a position in map blocks, whose edge is 16 nodes.
type BlockPosition [3]int16

// blockOf returns the block that holds a point, whose position is in nodes. A node reaches half a node to each side of its
// position.
func blockOf(position [3]float64) (block BlockPosition) {
	for i, part := range position {
		block[i] = int16(math.Floor(part+0.5)) >> 4
	}
	return block
}

func blockOfNode(node [3]int16) (block BlockPosition) {
	for i, part := range node {
		block[i] = part >> 4
	}
	return block
}

// Radius is the cube (or box) of blocks around a position that must have arrived before a join or a teleport is complete. It has
// the distances from the position's block, in blocks.
type Radius struct{ Horizontal, Vertical int }

// Blocks returns the number of blocks in the box.
func (r Radius) Blocks() int {
	edge := 2*r.Horizontal + 1
	return edge * edge * (2*r.Vertical + 1)
}

const (
	farthestRadius = 3 // At 4 blocks and beyond (or beyond its range, if that is nearer), the server leaves out blocks of air.
	blockReach     = 13.85
	eyeHeight      = 1.7
)

// leastRange returns the smallest wanted range with which the server sends every block of the box.
//
// The server adds 1 to the wanted range. It sends a block if the distance from the player's eye to the block's centre, less the
// distance from the centre to a corner, is within this range. In the worst case, the player stands at the edge of its own block.
func (r Radius) leastRange() int {
	along, up := float64(16*r.Horizontal+8), float64(16*r.Vertical+8)+eyeHeight
	corner := math.Sqrt(2*along*along+up*up) - blockReach
	return max(r.Horizontal, r.Vertical, 1, int(math.Ceil(corner/16))-1)
}

// blockSet knows which blocks a player has, and which blocks of the box around a target are missing.
//
// The server sends a block once, and not again until the client says that it has dropped the block. A block that the player has
// therefore counts as arrived.
type blockSet struct {
	held    map[BlockPosition]struct{}
	missing map[BlockPosition]struct{}
}

func newBlockSet() *blockSet {
	return &blockSet{held: map[BlockPosition]struct{}{}, missing: map[BlockPosition]struct{}{}}
}

// expect begins to wait for the box around center, and returns how many of its blocks are missing.
func (b *blockSet) expect(center BlockPosition, radius Radius) int {
	clear(b.missing)
	for dx := -radius.Horizontal; dx <= radius.Horizontal; dx++ {
		for dy := -radius.Vertical; dy <= radius.Vertical; dy++ {
			for dz := -radius.Horizontal; dz <= radius.Horizontal; dz++ {
				block := BlockPosition{center[0] + int16(dx), center[1] + int16(dy), center[2] + int16(dz)}
				if _, here := b.held[block]; !here {
					b.missing[block] = struct{}{}
				}
			}
		}
	}
	return len(b.missing)
}

// arrived adds a block and returns how many blocks are still missing.
func (b *blockSet) arrived(block BlockPosition) int {
	b.held[block] = struct{}{}
	delete(b.missing, block)
	return len(b.missing)
}

// drop forgets the blocks that are farther from center than keep (in blocks, along any axis), and returns them.
func (b *blockSet) drop(center BlockPosition, keep int) []BlockPosition {
	var dropped []BlockPosition
	for block := range b.held {
		if !within(block, center, keep) {
			delete(b.held, block)
			dropped = append(dropped, block)
		}
	}
	return dropped
}

func within(block, center BlockPosition, distance int) bool {
	for i := range block {
		if d := int(block[i]) - int(center[i]); d > distance || d < -distance {
			return false
		}
	}
	return true
}
