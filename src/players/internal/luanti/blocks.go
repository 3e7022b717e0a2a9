package luanti

import (
	"math"

	"tickdisk/players/internal/play"
)

// blockPosition is a position in map blocks, whose edge is 16 nodes.
type blockPosition [3]int16

// blockOf returns the block that holds a point, whose position is in nodes.
func blockOf(position [3]float64) blockPosition { return blockOfNode(play.NodeAt(position)) }

func blockOfNode(node play.Node) (block blockPosition) {
	for i, part := range node {
		block[i] = int16(part >> 4)
	}
	return block
}

// radius is the cube (or box) of blocks around a position that must have arrived before a join or a teleport is complete. It has
// the distances from the position's block, in blocks.
type radius struct{ horizontal, vertical int }

// blocks returns the number of blocks in the box.
func (r radius) blocks() int {
	edge := 2*r.horizontal + 1
	return edge * edge * (2*r.vertical + 1)
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
func (r radius) leastRange() int {
	along, up := float64(16*r.horizontal+8), float64(16*r.vertical+8)+eyeHeight
	corner := math.Sqrt(2*along*along+up*up) - blockReach
	return max(r.horizontal, r.vertical, 1, int(math.Ceil(corner/16))-1)
}

// around returns the blocks of the box around a block.
func (r radius) around(center blockPosition) []blockPosition {
	blocks := make([]blockPosition, 0, r.blocks())
	for dx := -r.horizontal; dx <= r.horizontal; dx++ {
		for dy := -r.vertical; dy <= r.vertical; dy++ {
			for dz := -r.horizontal; dz <= r.horizontal; dz++ {
				blocks = append(blocks, blockPosition{center[0] + int16(dx), center[1] + int16(dy), center[2] + int16(dz)})
			}
		}
	}
	return blocks
}

func within(block, center blockPosition, distance int) bool {
	for i := range block {
		if d := int(block[i]) - int(center[i]); d > distance || d < -distance {
			return false
		}
	}
	return true
}
