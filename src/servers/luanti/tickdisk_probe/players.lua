-- Every player has a spawn of its own, and stones to place. The spawn of player pN is in line N + 1 of the spawns file.

return function(open, path, held, stone)
	local spawns = {}
	local file = open(path, "r")
	for line in file:lines() do
		spawns[#spawns + 1] = assert(minetest.string_to_pos(line), path .. ": this line is not a position: " .. line)
	end
	file:close()

	minetest.register_on_joinplayer(function(player)
		local number = tonumber(player:get_player_name():match("^p(%d+)$"))
		local spawn = number and spawns[number + 1]
		if spawn then
			held.enter(player, spawn)
		end
		player:set_armor_groups({immortal = 1})
		player:get_inventory():set_stack("main", 1, stone)
	end)

	-- The server does not take a placed stone away from the player, because a long trace places more stones than a stack holds.
	minetest.register_on_placenode(function()
		return true
	end)
end
