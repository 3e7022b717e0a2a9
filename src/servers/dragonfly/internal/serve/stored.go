package serve

import (
	"sync"

	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/chunk"
)

// stored reads and writes the chunks of the world. It knows which chunks of the overworld it could not read when the world last asked
// for them. Dragonfly leaves them empty.
type stored struct {
	world.Provider
	mu       sync.Mutex
	failures map[world.ChunkPos]error
}

func newStored(provider world.Provider) *stored {
	return &stored{Provider: provider, failures: map[world.ChunkPos]error{}}
}

// LoadColumn reads a chunk for the world.
func (s *stored) LoadColumn(at world.ChunkPos, dim world.Dimension) (*chunk.Column, error) {
	column, err := s.Provider.LoadColumn(at, dim)
	if dim == world.Overworld {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.failures, at)
		if err != nil {
			s.failures[at] = err
		}
	}
	return column, err
}

// failure returns why a chunk of the overworld is empty, or nil if it was read.
func (s *stored) failure(at world.ChunkPos) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures[at]
}
