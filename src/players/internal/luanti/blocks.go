package luanti

import "math"

// BlockPosition counts map blocks of 16 nodes.
type BlockPosition [3]int16

// blockOf returns the block that holds a point in nodes; a node reaches half a node to each side of its position.
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

// Radius is the cube (or box) of blocks around a position that must be there before a join or a teleport is complete.
type Radius struct{ Horizontal, Vertical int }

// Blocks is the number of blocks in the box.
func (r Radius) Blocks() int {
	edge := 2*r.Horizontal + 1
	return edge * edge * (2*r.Vertical + 1)
}

const (
	farthestRadius = 3 // from 4 blocks on the server leaves out blocks of plain air, from its range on if that is nearer
	blockReach     = 13.85
	eyeHeight      = 1.7
)

// leastRange returns the smallest wanted range with which the server sends every block of the box.
//
// It adds 1 to the range, and a corner is in range when its centre is no farther from the player's eye than that, less the distance
// from a block's centre to its corner. At worst the player stands at the edge of its own block.
func (r Radius) leastRange() int {
	along, up := float64(16*r.Horizontal+8), float64(16*r.Vertical+8)+eyeHeight
	corner := math.Sqrt(2*along*along+up*up) - blockReach
	return max(r.Horizontal, r.Vertical, 1, int(math.Ceil(corner/16))-1)
}

// blockSet knows which blocks a player holds, and which of the box around a target it still misses.
//
// The server sends a block once and not again until the client says that it has dropped it, so what is held counts as arrived.
type blockSet struct {
	held    map[BlockPosition]struct{}
	missing map[BlockPosition]struct{}
}

func newBlockSet() *blockSet {
	return &blockSet{held: map[BlockPosition]struct{}{}, missing: map[BlockPosition]struct{}{}}
}

// expect starts waiting for the box around center and returns how many of its blocks are missing.
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

// arrived notes a block; it returns how many are still missing.
func (b *blockSet) arrived(block BlockPosition) int {
	b.held[block] = struct{}{}
	delete(b.missing, block)
	return len(b.missing)
}

// drop forgets the blocks farther than keep (in blocks, along any axis) from center and returns them.
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
