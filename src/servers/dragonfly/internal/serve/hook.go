//go:build tickhook

package serve

import "github.com/df-mc/dragonfly/server/world"

func requireHook() error { return nil }

// setHook must be called before a world is made. The command in the folder `patch` adds TickHook to Dragonfly.
func setHook(run func(*world.Tx, func(*world.Tx))) { world.TickHook = run }
