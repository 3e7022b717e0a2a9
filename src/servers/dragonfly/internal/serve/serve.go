// Package serve runs Dragonfly on a generated world, and records its ticks.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/df-mc/dragonfly/server"
	"github.com/df-mc/dragonfly/server/block"
	"github.com/df-mc/dragonfly/server/item"
	"github.com/df-mc/dragonfly/server/player"
	"github.com/df-mc/dragonfly/server/player/playerdb"
	"github.com/df-mc/dragonfly/server/session"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/chunk"
	"github.com/df-mc/dragonfly/server/world/mcdb"
	"github.com/sandertv/gophertunnel/minecraft"

	"tickdisk/dragonfly/internal/generate"
	"tickdisk/dragonfly/internal/places"
	"tickdisk/dragonfly/internal/record"
)

// stone is the block that players place.
var stone = block.Stone{}

// Options says what is served and how.
type Options struct {
	Address      string
	World        string // The folder of a generated world.
	Places       string
	Record       string
	Log          string // Empty for the standard error output.
	SavePeriod   time.Duration
	RadiusChunks int
	Sync         bool // Whether every write of a chunk waits until it is on the disk.
}

// NotStarted is why a server could not begin to serve.
type NotStarted struct{ error }

// Run serves until the context is done, then saves and closes the world. It calls ready when players can join.
func Run(ctx context.Context, options Options, ready func()) error {
	if err := requireHook(); err != nil {
		return NotStarted{err}
	}
	l := &life{options: options}
	if err := l.open(); err != nil {
		return NotStarted{errors.Join(err, l.release())}
	}
	running := l.start()
	ready()
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		l.savePeriodically(ctx, running.World())
	}()
	<-ctx.Done()
	<-saved
	l.spawns.closing.Store(true)
	running.Close() // It closes the players' data, the world and the listener, whose errors it writes to the log.
	return l.record.Close()
}

// life is what one life of the server holds open.
type life struct {
	options  Options
	logger   *slog.Logger
	terrain  *mcdb.DB
	players  *playerdb.Provider
	spawns   *spawns
	held     held
	record   *record.Writer
	listener listener
}

// open opens everything that can be missing, held by another process or forbidden. What it opened before an error is closed by release.
func (l *life) open() (err error) {
	log := os.Stderr
	if l.options.Log != "" {
		if log, err = os.Create(l.options.Log); err != nil {
			return fmt.Errorf("the log cannot be written: %w", err)
		}
	}
	l.logger = slog.New(slog.NewTextHandler(log, nil))
	all, err := places.Read(l.options.Places)
	if err != nil {
		return err
	}
	folder := generate.Map(l.options.World)
	if _, err := os.Stat(filepath.Join(folder, "level.dat")); err != nil {
		return fmt.Errorf("%s holds no world, `generate` makes one: %w", l.options.World, err)
	}
	opened, err := minecraft.ListenConfig{AuthenticationDisabled: true}.Listen("raknet", l.options.Address)
	if err != nil {
		return fmt.Errorf("the server cannot listen on %s, check that the port is free: %w", l.options.Address, err)
	}
	l.listener = listener{opened}
	if l.options.Sync {
		syncWrites()
	}
	if l.terrain, err = (mcdb.Config{Log: l.logger}).Open(folder); err != nil {
		return fmt.Errorf("the world in %s cannot be opened, check that no other server holds it: %w", folder, err)
	}
	folder = filepath.Join(l.options.World, "players")
	if l.players, err = playerdb.NewProvider(folder); err != nil {
		return fmt.Errorf("the players' data in %s cannot be opened, check that no other server holds it: %w", folder, err)
	}
	l.held = held(filepath.Join(filepath.Dir(l.options.Record), "action_delay_ms"))
	l.spawns = newSpawns(l.players, all, l.logger, l.held)
	l.record, err = record.Create(l.options.Record)
	return err
}

// release closes what open had opened when it failed.
func (l *life) release() error {
	var err error
	if l.listener.Listener != nil {
		err = errors.Join(err, l.listener.Close())
	}
	if l.players != nil {
		err = errors.Join(err, l.players.Close())
	}
	if l.terrain != nil {
		err = errors.Join(err, l.terrain.Close())
	}
	return err
}

// start makes the server and lets players in.
func (l *life) start() *server.Server {
	ticks := &ticks{record: l.record}
	setHook(ticks.run)
	terrain := newStored(l.terrain)
	listen := func(server.Config) (server.Listener, error) { return l.listener, nil }
	running := server.Config{
		Log:                     l.logger,
		Name:                    "Tickdisk",
		AuthDisabled:            true,
		DisableResourceBuilding: true,
		MaxChunkRadius:          l.options.RadiusChunks,
		Allower:                 l.spawns,
		PlayerProvider:          l.spawns,
		WorldProvider:           terrain,
		Entities:                withNPCs(),
		Generator:               func(world.Dimension) world.Generator { return generator{l.record} },
		Listeners:               []func(server.Config) (server.Listener, error){listen},
	}.New()
	// Grass spreads to blocks next to it. With Dragonfly's own range of 6 chunks, ticks would load all terrain around a player for that,
	// however little of it the player sees.
	running.World().SetTickRange(max(0, l.options.RadiusChunks-2))
	<-running.World().Exec(func(*world.Tx) { ticks.begin(running.PlayerCount) })
	registerCommands(filepath.Join(l.options.World, "markers"), l.record, l.held, terrain)
	running.Listen()
	go func() {
		for joined := range running.Accept() {
			l.equip(joined)
		}
	}()
	return running
}

// equip gives a player stones, which do not run out in creative mode, lets it fly, and holds its changes of blocks back.
func (l *life) equip(joined *player.Player) {
	if l.spawns.closing.Load() {
		// Dragonfly waits for every player when it closes, but only disconnects those that are in the game when it begins to close.
		joined.Disconnect("The server closes.")
		return
	}
	if err := joined.Inventory().SetItem(0, item.NewStack(stone, 64)); err != nil {
		l.logger.Error("give stones: "+err.Error(), "name", joined.Name())
	}
	joined.StartFlying()
	joined.Handle(edits{held: l.held})
}

// savePeriodically does what Dragonfly's own timer does every 10 minutes, which cannot be changed where a server is configured.
func (l *life) savePeriodically(ctx context.Context, overworld *world.World) {
	timer := time.NewTicker(l.options.SavePeriod)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			begin := record.Now()
			overworld.Save()
			l.record.Save(begin, record.Now())
		case <-ctx.Done():
			return
		}
	}
}

// generator leaves terrain that is not stored empty, and counts it. Dragonfly uses it on the world's goroutine.
type generator struct{ record *record.Writer }

func (g generator) GenerateChunk(world.ChunkPos, *chunk.Chunk) { g.record.Generated(record.Now()) }

// listener makes a listener of the protocol's library one of Dragonfly's, which is not exported. Dragonfly would also go on without a
// listener if the port is taken.
type listener struct{ *minecraft.Listener }

func (l listener) Accept() (session.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return connection.(session.Conn), nil
}

func (l listener) Disconnect(connection session.Conn, reason string) error {
	return l.Listener.Disconnect(connection.(*minecraft.Conn), reason)
}
