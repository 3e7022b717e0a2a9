package serve

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/df-mc/dragonfly/server/block/cube"
	"github.com/df-mc/dragonfly/server/item"
	"github.com/df-mc/dragonfly/server/player"
	"github.com/df-mc/dragonfly/server/world"
)

// held is a file with the time in milliseconds for which answers to players are held back. An experiment may change it at any moment.
type held string

func (h held) delay() time.Duration {
	text, err := os.ReadFile(string(h))
	if err != nil {
		return 0
	}
	milliseconds, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return time.Duration(milliseconds) * time.Millisecond
}

// back lets a player's action be done later, on the world's goroutine, which does not wait for it. Without a delay it returns false,
// and the action must be done at once.
func (h held) back(who *player.Player, action func(*world.Tx, *player.Player)) bool {
	delay, handle := h.delay(), who.H()
	if delay > 0 {
		time.AfterFunc(delay, func() {
			handle.ExecWorld(func(tx *world.Tx, entity world.Entity) { action(tx, entity.(*player.Player)) })
		})
	}
	return delay > 0
}

// edits holds back the changes of blocks by a player. Dragonfly shows the player the unchanged block in the meantime.
type edits struct {
	player.NopHandler
	held held
}

// HandleBlockPlace is called before a block is placed.
func (e edits) HandleBlockPlace(ctx *player.Context, at cube.Pos, placed world.Block) {
	e.hold(ctx, at, placed)
}

// HandleBlockBreak is called before a block is broken.
func (e edits) HandleBlockBreak(ctx *player.Context, at cube.Pos, _ *[]item.Stack, _ *int) {
	e.hold(ctx, at, nil)
}

func (e edits) hold(ctx *player.Context, at cube.Pos, changed world.Block) {
	if e.held.back(ctx.Val(), func(tx *world.Tx, _ *player.Player) { tx.SetBlock(at, changed, nil) }) {
		ctx.Cancel()
	}
}
