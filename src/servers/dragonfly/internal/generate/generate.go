// Package generate makes the world that server lives begin with.
package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/df-mc/dragonfly/server/block/cube"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/chunk"
	"github.com/df-mc/dragonfly/server/world/mcdb"
	"github.com/df-mc/goleveldb/leveldb"
	"github.com/df-mc/goleveldb/leveldb/opt"
	"github.com/df-mc/goleveldb/leveldb/util"

	"tickdisk/dragonfly/internal/places"
	"tickdisk/dragonfly/internal/terrain"
)

const (
	squareChunks = 5 // The edge of a square, in whose middle a place lies.
	chunkBlocks  = 16
	noon         = 6000 // The time of day that players see.
)

// Result says what was generated.
type Result struct {
	ChunksGenerated int            `json:"chunks_generated"`
	Places          []places.Place `json:"places"`
}

// World writes the world of a seed into a new folder: edge times edge squares of terrain around the origin.
func World(folder string, seed int64, edge int) (Result, error) {
	if edge < 1 {
		return Result{}, fmt.Errorf("the world's edge must be at least one square of %d chunks, but is %d", squareChunks, edge)
	}
	terrainFolder := Map(folder)
	if _, err := os.Stat(terrainFolder); !errors.Is(err, fs.ErrNotExist) {
		return Result{}, fmt.Errorf("%s is already there; remove it or name another folder for the world", terrainFolder)
	}
	source := terrain.New(seed)
	result := Result{ChunksGenerated: edge * edge * squareChunks * squareChunks, Places: makePlaces(source, edge)}
	if err := writeMap(terrainFolder, source, edge, result.Places[len(result.Places)/2]); err != nil {
		return Result{}, fmt.Errorf("the terrain could not be written to %s: %w", terrainFolder, err)
	}
	return result, compact(terrainFolder)
}

// Map returns the folder of a world that holds its terrain.
func Map(folder string) string { return filepath.Join(folder, "map") }

// Write writes the result to a file that appears when it is whole.
func (r Result) Write(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	partial := path + ".partial"
	if err := os.WriteFile(partial, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("the result cannot be written: %w", err)
	}
	return os.Rename(partial, path)
}

// makePlaces returns the block above the ground in the middle of each square, sorted by z, then x. The square in row 0 and column 0 has
// the origin's chunk in its middle.
func makePlaces(source *terrain.Terrain, edge int) []places.Place {
	var all []places.Place
	middle := func(square int) int { return (square-edge/2)*squareChunks*chunkBlocks + chunkBlocks/2 }
	for row := range edge {
		for column := range edge {
			x, z := middle(column), middle(row)
			all = append(all, places.Place{X: x, Y: source.Ground(x, z) + 1, Z: z})
		}
	}
	return all
}

func writeMap(folder string, source *terrain.Terrain, edge int, spawn places.Place) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	db, err := mcdb.Config{Log: slog.New(slog.DiscardHandler)}.Open(folder)
	if err != nil {
		return err
	}
	describe(db, spawn)
	return errors.Join(storeChunks(db, source, edge), db.Close())
}

// storeChunks generates and stores all chunks with all processors.
func storeChunks(db *mcdb.DB, source *terrain.Terrain, edge int) error {
	chunks := edge * squareChunks
	first := -(edge/2)*squareChunks - squareChunks/2
	rows := make(chan int)
	failures := make(chan error, chunks)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for row := range rows {
				failures <- storeRow(db, source, first, first+row, chunks)
			}
		}()
	}
	for row := range chunks {
		rows <- row
	}
	close(rows)
	workers.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

func storeRow(db *mcdb.DB, source *terrain.Terrain, first, z, chunks int) error {
	for x := first; x < first+chunks; x++ {
		position := world.ChunkPos{int32(x), int32(z)}
		if err := db.StoreColumn(position, world.Overworld, &chunk.Column{Chunk: source.Chunk(position)}); err != nil {
			return err
		}
	}
	return nil
}

// describe writes the world's settings: time and weather stand still, so that they cost nothing and lightning does not strike.
func describe(db *mcdb.DB, spawn places.Place) {
	settings := db.Settings()
	settings.Name = "Tickdisk"
	settings.Spawn = cube.Pos{spawn.X, spawn.Y, spawn.Z}
	settings.Time, settings.TimeCycle = noon, false
	settings.WeatherCycle, settings.Raining, settings.Thundering = false, false, false
	settings.DefaultGameMode = world.GameModeCreative
	db.SaveSettings(settings)
}

// compact merges the tables, so that no compaction that the generation left over disturbs the first minutes of a server life. The second
// opening removes the files that the merged tables replaced.
func compact(folder string) error {
	for range 2 {
		db, err := leveldb.OpenFile(filepath.Join(folder, "db"), &opt.Options{BlockSize: 16 * opt.KiB})
		if err != nil {
			return fmt.Errorf("the terrain in %s cannot be opened again: %w", folder, err)
		}
		if err := errors.Join(db.CompactRange(util.Range{}), db.Close()); err != nil {
			return fmt.Errorf("the terrain in %s cannot be compacted: %w", folder, err)
		}
	}
	return nil
}
