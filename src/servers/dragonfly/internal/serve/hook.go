//go:build tickhook

package serve

import (
	"github.com/df-mc/dragonfly/server/world"
	"github.com/df-mc/dragonfly/server/world/mcdb"
	"github.com/df-mc/goleveldb/leveldb/opt"
)

func requireHook() error { return nil }

// setHook must be called before a world is made. The command in the folder `patch` adds TickHook to Dragonfly.
func setHook(run func(*world.Tx, func(*world.Tx))) { world.TickHook = run }

// syncWrites lets every write of a chunk wait until it is on the disk. It must be called before a world is opened.
func syncWrites() { mcdb.WriteOptions = &opt.WriteOptions{Sync: true} }
