package bedrock

import (
	"math"

	"github.com/sandertv/gophertunnel/minecraft/protocol"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"

	"tickdisk/players/internal/play"
)

// A chunk is a column of 16x16 blocks. Its sub-chunks are 16 blocks high, and the lowest one has this number.
const lowestSubChunk = -4

func chunkOf(position [3]float64) protocol.ChunkPos {
	node := play.NodeAt(position)
	return protocol.ChunkPos{int32(node[0] >> 4), int32(node[2] >> 4)}
}

// around returns the chunks of the square around a chunk.
func around(center protocol.ChunkPos, radius int) []protocol.ChunkPos {
	var chunks []protocol.ChunkPos
	for dx := -radius; dx <= radius; dx++ {
		for dz := -radius; dz <= radius; dz++ {
			chunks = append(chunks, protocol.ChunkPos{center[0] + int32(dx), center[1] + int32(dz)})
		}
	}
	return chunks
}

func distance(a, b protocol.ChunkPos) float64 {
	return math.Hypot(float64(a[0]-b[0]), float64(a[1]-b[1]))
}

// leastRange returns the smallest range with which the server sends every chunk of the square. The server sends a chunk if its
// distance, rounded, is less than the range.
func leastRange(radius int) int { return int(math.Round(float64(radius)*math.Sqrt2)) + 1 }

// forgotten returns whether the server takes a chunk for unloaded by a player in another chunk, and would send it again.
func forgotten(chunk, center protocol.ChunkPos, rangeChunks int) bool {
	return int(distance(chunk, center)) > rangeChunks
}

// subChunkRequest asks for the content of a chunk, which the server sends only then. It asks for no sub-chunk above the highest
// one with blocks.
func subChunkRequest(chunk *packet.LevelChunk) *packet.SubChunkRequest {
	request := &packet.SubChunkRequest{Dimension: chunk.Dimension, Position: protocol.SubChunkPos{chunk.Position[0], 0, chunk.Position[1]}}
	for index := 0; index <= int(chunk.HighestSubChunk); index++ {
		request.Offsets = append(request.Offsets, protocol.SubChunkOffset{0, int8(lowestSubChunk + index), 0})
	}
	return request
}

// hasContent returns whether the server has sent all sub-chunks for which a request asked.
func hasContent(sent *packet.SubChunk) bool {
	for _, entry := range sent.SubChunkEntries {
		if entry.Result != protocol.SubChunkResultSuccess && entry.Result != protocol.SubChunkResultSuccessAllAir {
			return false
		}
	}
	return len(sent.SubChunkEntries) > 0
}
