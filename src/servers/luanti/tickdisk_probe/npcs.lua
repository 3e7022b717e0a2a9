-- NPCs that players can kill. They are objects of the server's own kind, so it keeps them in the map block where they stand.

local NAME = "tickdisk_probe:npc"
local HEALTH = 2
local HIT = {full_punch_interval = 1, damage_groups = {fleshy = 1}}
local loaded = {} -- The objects of NPCs in active map blocks, by number.

minetest.register_entity(NAME, {
	initial_properties = {hp_max = HEALTH, physical = false, visual = "cube", static_save = true},
	on_activate = function(self, number)
		self.number = number
		self.object:set_armor_groups({fleshy = 100})
		loaded[number] = self.object
	end,
	on_deactivate = function(self)
		loaded[self.number] = nil
	end,
	get_staticdata = function(self)
		return self.number
	end,
})

return {
	hit = HIT,
	least_health = 10,
	add = function(number, player)
		return minetest.add_entity(vector.offset(player:get_pos(), 1, 0, 0), NAME, number)
	end,
	-- Hits an NPC until it is dead, and returns the number of hits, or nil if it is not there.
	kill = function(number, player)
		local npc, hits = loaded[number], 0
		if not npc then
			return nil
		end
		while hits < HEALTH do
			hits = hits + 1
			npc:punch(player, 1, HIT)
		end
		return hits
	end,
}
