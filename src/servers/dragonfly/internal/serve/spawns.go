package serve

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/df-mc/dragonfly/server/player"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/goleveldb/leveldb"
	"github.com/google/uuid"
	"github.com/sandertv/gophertunnel/minecraft/protocol/login"

	"tickdisk/dragonfly/internal/places"
)

// spawns lets players enter at their own places. Their data are read and written as Dragonfly does, but a saved position is not used.
type spawns struct {
	player.Provider
	places  []places.Place
	logger  *slog.Logger
	held    held
	closing atomic.Bool

	mu    sync.Mutex
	known map[uuid.UUID]places.Place
}

func newSpawns(stored player.Provider, all []places.Place, logger *slog.Logger, answers held) *spawns {
	return &spawns{Provider: stored, places: all, logger: logger, held: answers, known: map[uuid.UUID]places.Place{}}
}

// Allow notes the place of a player that connects, because Load is only told the player's identity.
func (s *spawns) Allow(_ net.Addr, identity login.IdentityData, _ login.ClientData) (string, bool) {
	if s.closing.Load() {
		return "The server closes.", false
	}
	id, err := uuid.Parse(identity.Identity)
	if err != nil {
		return "The identity is not a UUID.", false
	}
	place, err := places.ForPlayer(identity.DisplayName, s.places)
	if err != nil {
		return err.Error(), false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[id] = place
	return "", true
}

// Load reads the data of a player and moves it to its place. Dragonfly calls it on a goroutine of the connection, where a join is held back.
func (s *spawns) Load(id uuid.UUID, worldOf func(world.Dimension) *world.World) (player.Config, *world.World, error) {
	time.Sleep(s.held.delay())
	loaded, in, err := s.Provider.Load(id, worldOf)
	if err != nil {
		if !errors.Is(err, leveldb.ErrNotFound) {
			s.logger.Error("load player data: "+err.Error(), "uuid", id)
		}
		loaded, in = player.Config{GameMode: world.GameModeCreative}, worldOf(world.Overworld)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded.Position = s.known[id].Feet()
	return loaded, in, nil
}
