package serve

import (
	"fmt"

	"github.com/df-mc/dragonfly/server/block/cube"
	"github.com/df-mc/dragonfly/server/cmd"
	"github.com/df-mc/dragonfly/server/entity"
	"github.com/df-mc/dragonfly/server/player"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/go-gl/mathgl/mgl64"
)

const (
	leastHealth = 10 // of a player, before it is restored
	reach       = 8  // blocks each way around a player, in which an NPC is looked for
)

type attack struct{ N uint }

// Run lets the player that asked attack another one, which must be within its reach. Players of the project are in creative mode, in
// which nothing hurts them. The other one leaves it for the attack.
func (a attack) Run(source cmd.Source, answer *cmd.Output, tx *world.Tx) {
	attacker, ok := source.(*player.Player)
	if !ok {
		answer.Error("only players can attack")
		return
	}
	name := fmt.Sprintf("p%03d", a.N)
	for each := range tx.Players() {
		target := each.(*player.Player)
		if target.Name() != name {
			continue
		}
		target.SetGameMode(world.GameModeSurvival)
		hit := attacker.AttackEntity(target)
		target.SetGameMode(world.GameModeCreative)
		target.StartFlying()
		health := target.Health()
		if health <= leastHealth {
			target.Heal(target.MaxHealth(), entity.FoodHealingSource{})
		}
		if !hit {
			answer.Errorf("player %d is out of reach", a.N)
			return
		}
		answer.Printf("attacked %d %g", a.N, health)
		return
	}
	answer.Errorf("there is no player %d to attack", a.N)
}

type putNPC struct{ N uint }

// Run puts an NPC beside the player that asked.
func (p putNPC) Run(source cmd.Source, answer *cmd.Output, tx *world.Tx) {
	asked, ok := source.(*player.Player)
	if !ok {
		answer.Error("only players can put an NPC beside them")
		return
	}
	at := world.EntitySpawnOpts{Position: asked.Position().Add(mgl64.Vec3{1})}
	tx.AddEntity(at.New(npcType{}, newNPCState(int32(p.N), npcHealth)))
	answer.Printf("npc %d", p.N)
}

type kill struct{ N uint }

// Run lets the player that asked attack an NPC near it until it is dead.
func (k kill) Run(source cmd.Source, answer *cmd.Output, tx *world.Tx) {
	attacker, ok := source.(*player.Player)
	if !ok {
		answer.Error("only players can kill an NPC")
		return
	}
	for each := range tx.EntitiesWithin(cube.Box(-reach, -reach, -reach, reach, reach, reach).Translate(attacker.Position())) {
		target, ok := each.(*npc)
		if !ok || target.state.number != int32(k.N) {
			continue
		}
		hits := 0
		for ; !target.Dead() && attacker.AttackEntity(target); hits++ {
		}
		if !target.Dead() {
			answer.Errorf("NPC %d is out of reach", k.N)
			return
		}
		answer.Printf("killed %d %d", k.N, hits)
		return
	}
	answer.Errorf("there is no NPC %d near the player", k.N)
}
