package java

import "tickdisk/players/internal/play"

// chunk is the position x, z of a column of 16x16 blocks.
type chunk [2]int32

func chunkOf(position [3]float64) chunk {
	node := play.NodeAt(position)
	return chunk{int32(node[0] >> 4), int32(node[2] >> 4)}
}

// around returns the chunks of the square around a chunk.
func around(center chunk, radius int) []chunk {
	var chunks []chunk
	for dx := -radius; dx <= radius; dx++ {
		for dz := -radius; dz <= radius; dz++ {
			chunks = append(chunks, chunk{center[0] + int32(dx), center[1] + int32(dz)})
		}
	}
	return chunks
}

// within returns whether a chunk lies in the square around another.
func within(one, center chunk, radius int) bool {
	for axis := range one {
		if apart := int(one[axis] - center[axis]); apart > radius || apart < -radius {
			return false
		}
	}
	return true
}
