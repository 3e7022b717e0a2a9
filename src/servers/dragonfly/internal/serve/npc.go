package serve

import (
	"github.com/df-mc/dragonfly/server/block/cube"
	"github.com/df-mc/dragonfly/server/entity"
	"github.com/df-mc/dragonfly/server/entity/effect"
	"github.com/df-mc/dragonfly/server/world"
	"github.com/go-gl/mathgl/mgl64"
)

const npcHealth = 2

// npcType is the type of NPCs, which are kept in the chunk where they stand. Dragonfly has no living entities beside players.
type npcType struct{}

// Open makes an NPC for the length of a transaction.
func (npcType) Open(tx *world.Tx, handle *world.EntityHandle, data *world.EntityData) world.Entity {
	return &npc{Ent: entity.Open(tx, handle, data), state: data.Data.(*npcState)}
}

func (npcType) EncodeEntity() string        { return "tickdisk:npc" }
func (npcType) NetworkEncodeEntity() string { return "minecraft:cow" }
func (npcType) BBox(world.Entity) cube.BBox { return cube.Box(-0.45, 0, -0.45, 0.45, 1.4, 0.45) }

func (npcType) DecodeNBT(stored map[string]any, data *world.EntityData) {
	number, _ := stored["Number"].(int32)
	health, _ := stored["Health"].(float32)
	data.Data = newNPCState(number, float64(health))
}

func (npcType) EncodeNBT(data *world.EntityData) map[string]any {
	state := data.Data.(*npcState)
	return map[string]any{"Number": state.number, "Health": float32(state.health)}
}

// npcState is what an NPC keeps from one transaction to the next.
type npcState struct {
	*entity.StationaryBehaviour
	number int32
	health float64
}

func newNPCState(number int32, health float64) *npcState {
	return &npcState{StationaryBehaviour: entity.StationaryBehaviourConfig{}.New(), number: number, health: health}
}

// Apply makes this the state of a new entity.
func (s *npcState) Apply(data *world.EntityData) { data.Data = s }

// npc is an entity that players can kill. It stays where it is.
type npc struct {
	*entity.Ent
	state *npcState
}

// Hurt takes health from the NPC, and removes it from the world if none is left.
func (n *npc) Hurt(damage float64, _ world.DamageSource) (float64, bool) {
	n.state.health -= damage
	if n.Dead() {
		_ = n.Close()
	}
	return damage, true
}

func (n *npc) Health() float64                      { return n.state.health }
func (n *npc) Dead() bool                           { return n.state.health <= 0 }
func (*npc) MaxHealth() float64                     { return npcHealth }
func (*npc) SetMaxHealth(float64)                   {}
func (*npc) Heal(float64, world.HealingSource)      {}
func (*npc) KnockBack(mgl64.Vec3, float64, float64) {}
func (*npc) AddEffect(effect.Effect)                {}
func (*npc) RemoveEffect(effect.Type)               {}
func (*npc) Effects() []effect.Effect               { return nil }
func (*npc) Speed() float64                         { return 0 }
func (*npc) SetSpeed(float64)                       {}

// withNPCs returns the entities that Dragonfly knows, and NPCs.
func withNPCs() world.EntityRegistry {
	known := entity.DefaultRegistry
	return known.Config().New(append(known.Types(), npcType{}))
}
