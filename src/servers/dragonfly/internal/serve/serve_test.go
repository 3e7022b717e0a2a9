package serve

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/df-mc/dragonfly/server/player"
	"github.com/df-mc/dragonfly/server/player/playerdb"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/google/uuid"
	"github.com/sandertv/gophertunnel/minecraft/protocol/login"

	"tickdisk/dragonfly/internal/places"
)

func TestAPlayerEntersAtItsPlaceWhateverWasSaved(t *testing.T) {
	stored, err := playerdb.NewProvider(filepath.Join(t.TempDir(), "players"))
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	overworld := world.New()
	defer overworld.Close()
	worldOf := func(world.Dimension) *world.World { return overworld }
	spawns := newSpawns(stored, []places.Place{{X: 0, Y: 1, Z: 2}, {X: 8, Y: 70, Z: -72}}, slog.New(slog.DiscardHandler), "")
	id := uuid.New()
	if reason, ok := spawns.Allow(nil, login.IdentityData{Identity: id.String(), DisplayName: "p001"}, login.ClientData{}); !ok {
		t.Fatal(reason)
	}
	for _, visit := range []string{"first", "second"} {
		loaded, in, err := spawns.Load(id, worldOf)
		if err != nil || in != overworld || loaded.GameMode != world.GameModeCreative {
			t.Fatalf("%s visit: the player %+v, the world %v and the error %v", visit, loaded, in, err)
		}
		if want := (mgl64.Vec3{8.5, 72, -71.5}); loaded.Position != want {
			t.Errorf("%s visit: the player is at %v but should be at %v", visit, loaded.Position, want)
		}
		handle := world.EntitySpawnOpts{Position: mgl64.Vec3{500, 80, 500}, ID: id}.New(player.Type, loaded)
		<-overworld.Exec(func(tx *world.Tx) {
			entity := tx.AddEntity(handle).(*player.Player)
			if err := spawns.Save(id, entity.Data(), overworld); err != nil {
				t.Error(err)
			}
			tx.RemoveEntity(entity)
		})
	}
}

func TestStrangersAndLatecomersAreRefused(t *testing.T) {
	spawns := newSpawns(player.NopProvider{}, []places.Place{{}}, slog.New(slog.DiscardHandler), "")
	refused := func(identity, name, reason string) {
		t.Helper()
		told, ok := spawns.Allow(nil, login.IdentityData{Identity: identity, DisplayName: name}, login.ClientData{})
		if ok || !strings.Contains(told, reason) {
			t.Errorf("%s was told %q, but a refusal with %q is expected", name, told, reason)
		}
	}
	refused(uuid.NewString(), "p001", "only 1")
	refused("none", "p000", "UUID")
	spawns.closing.Store(true)
	refused(uuid.NewString(), "p000", "closes")
}
