package bedrock

import (
	"math"
	"testing"

	"github.com/sandertv/gophertunnel/minecraft/protocol"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"
)

func TestChunkOf(t *testing.T) {
	cases := map[[3]float64]protocol.ChunkPos{
		{0, 64, 0}: {0, 0}, {15, 64, -1}: {0, -1}, {15.6, 64, -0.4}: {1, 0}, {-16, 0, -17}: {-1, -2},
	}
	for position, want := range cases {
		if got := chunkOf(position); got != want {
			t.Errorf("%v lies in chunk %v, wanted %v", position, got, want)
		}
	}
}

// The server's own rule decides which chunks it sends.
func TestTheLeastRangeCoversTheSquare(t *testing.T) {
	sent := func(dx, dz, wantedRange int) bool {
		return int(math.Round(math.Hypot(float64(dx), float64(dz)))) < wantedRange
	}
	for radius := range 8 {
		least, covered, less := leastRange(radius), true, true
		for _, chunk := range around(protocol.ChunkPos{}, radius) {
			covered = covered && sent(int(chunk[0]), int(chunk[1]), least)
			less = less && sent(int(chunk[0]), int(chunk[1]), least-1)
		}
		if !covered || less {
			t.Errorf("range %d for radius %d: covers the square: %v, so does the next smaller range: %v", least, radius, covered, less)
		}
		if (&Driver{radius, least}).Check() != nil || (&Driver{radius, least - 1}).Check() == nil {
			t.Errorf("the check of radius %d does not agree with its least range %d", radius, least)
		}
	}
	if (&Driver{-1, 5}).Check() == nil || (&Driver{1, 256}).Check() == nil {
		t.Error("a negative radius or a range of more than a byte was accepted")
	}
}

func TestSubChunkRequest(t *testing.T) {
	request := subChunkRequest(&packet.LevelChunk{Position: protocol.ChunkPos{-3, 7}, HighestSubChunk: 8})
	if request.Position != (protocol.SubChunkPos{-3, 0, 7}) || len(request.Offsets) != 9 ||
		request.Offsets[0] != (protocol.SubChunkOffset{0, -4, 0}) || request.Offsets[8] != (protocol.SubChunkOffset{0, 4, 0}) {
		t.Errorf("the request is %+v", request)
	}
}
