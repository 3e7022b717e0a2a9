package generate

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/df-mc/dragonfly/server/block"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/chunk"
	"github.com/df-mc/dragonfly/server/world/mcdb"
	"github.com/df-mc/goleveldb/leveldb"

	"tickdisk/dragonfly/internal/places"
)

func opened(t *testing.T, folder string) *mcdb.DB {
	t.Helper()
	db, err := mcdb.Config{Log: slog.New(slog.DiscardHandler)}.Open(Map(folder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func stored(t *testing.T, db *mcdb.DB, x, z int32) *chunk.Chunk {
	t.Helper()
	column, err := db.LoadColumn(world.ChunkPos{x, z}, world.Overworld)
	if err != nil {
		t.Fatalf("the chunk %d, %d is not stored: %v", x, z, err)
	}
	return column.Chunk
}

func TestTheSameSeedMakesTheSameWorld(t *testing.T) {
	var results [2]Result
	var dbs [2]*mcdb.DB
	for i := range dbs {
		folder := t.TempDir()
		var err error
		if results[i], err = World(folder, 11, 2); err != nil {
			t.Fatal(err)
		}
		dbs[i] = opened(t, folder)
	}
	if !reflect.DeepEqual(results[0], results[1]) || results[0].ChunksGenerated != 100 {
		t.Fatalf("the results are %v and %v", results[0], results[1])
	}
	for x := int32(-7); x < 3; x++ {
		for z := int32(-7); z < 3; z++ {
			if !stored(t, dbs[0], x, z).Equals(stored(t, dbs[1], x, z)) {
				t.Errorf("the chunk %d, %d has two contents", x, z)
			}
		}
	}
	for _, outside := range []world.ChunkPos{{-8, 0}, {3, 0}, {0, -8}, {0, 3}} {
		if _, err := dbs[0].LoadColumn(outside, world.Overworld); !errors.Is(err, leveldb.ErrNotFound) {
			t.Errorf("the chunk %v outside the world is stored: %v", outside, err)
		}
	}
}

func TestABlockCanBePutInEveryPlace(t *testing.T) {
	folder := t.TempDir()
	result, err := World(folder, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	db := opened(t, folder)
	var corners [][2]int
	for _, p := range result.Places {
		corners = append(corners, [2]int{p.X, p.Z})
		at := stored(t, db, int32(p.X>>4), int32(p.Z>>4))
		for dy, want := range map[int]world.Block{-1: block.Grass{}, 0: block.Air{}, 1: block.Air{}, 2: block.Air{}, 3: block.Air{}} {
			if got := at.Block(uint8(p.X&15), int16(p.Y+dy), uint8(p.Z&15), 0); got != world.BlockRuntimeID(want) {
				t.Errorf("%d blocks above the place %v is block %d", dy, p, got)
			}
		}
	}
	if want := [][2]int{{-72, -72}, {8, -72}, {-72, 8}, {8, 8}}; !reflect.DeepEqual(corners, want) {
		t.Errorf("the places are at %v but should be at %v, sorted by z, then x", corners, want)
	}
	if settings := db.Settings(); settings.TimeCycle || settings.WeatherCycle || settings.Raining || settings.Thundering {
		t.Errorf("time or weather would go on: %+v", settings)
	}
}

func TestAWorldIsNotOverwritten(t *testing.T) {
	folder := t.TempDir()
	if _, err := World(folder, 3, 0); err == nil {
		t.Error("a world without a square was made")
	}
	if _, err := World(folder, 3, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := World(folder, 3, 1); err == nil || !strings.Contains(err.Error(), "already there") {
		t.Errorf("the second world in the same folder gave %v", err)
	}
}

func TestTheResultIsJSONWithCoordinatesByName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	if err := (Result{25, []places.Place{{X: 8, Y: 70, Z: -72}}}).Write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := `{"chunks_generated":25,"places":[{"x":8,"y":70,"z":-72}]}` + "\n"; err != nil || string(text) != want {
		t.Fatalf("the file holds %q and the error is %v, but it should hold %q", text, err, want)
	}
}
