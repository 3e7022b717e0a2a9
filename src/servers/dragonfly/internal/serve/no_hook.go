//go:build !tickhook

package serve

import (
	"errors"

	"github.com/df-mc/dragonfly/server/world"
)

// requireHook tells why this build cannot serve. Without the hook everything else can still be built and tested from Dragonfly as it is.
func requireHook() error {
	return errors.New("this program was built without the tick hook and cannot record ticks; " +
		"build it from the changed copy of Dragonfly with -tags tickhook")
}

func setHook(func(*world.Tx, func(*world.Tx))) {}

func syncWrites() {}
