-- Chat commands by which clients and experiments make the server do something. `stone` is the name of the node that players place.

return function(record, held, npcs, stone)
	local function stamp()
		return string.format("%d", minetest.get_us_time())
	end

	-- Luanti 5.6.1 marks what it refuses itself in this way, and not what a command refuses.
	local function refused(reason)
		return false, "-!- " .. reason
	end

	minetest.register_chatcommand("tickdisk_ping", {
		params = "<n>",
		description = "Answers `pong <n>`",
		func = function(_, n)
			return true, "pong " .. n
		end,
	})

	minetest.register_chatcommand("tickdisk_teleport", {
		params = "<x> <y> <z>",
		description = "Moves the player to this position",
		func = function(name, text)
			local x, y, z = text:match("^(%-?[%d.]+)[ ,]+(%-?[%d.]+)[ ,]+(%-?[%d.]+)$")
			local player = minetest.get_player_by_name(name)
			if not (x and player) then
				return refused("usage: /tickdisk_teleport <x> <y> <z>")
			end
			held.move(player, {x = tonumber(x), y = tonumber(y), z = tonumber(z)})
			return true
		end,
	})

	-- Nothing has read a marker file before, so the read reaches the device between the two recorded times.
	minetest.register_chatcommand("tickdisk_marker", {
		params = "<n>",
		description = "Reads the world's marker file <n> and answers `marker <n>`",
		func = function(_, n)
			local path = minetest.get_worldpath() .. "/markers/" .. (n:match("^%d+$") or "none")
			local before = stamp()
			local file = io.open(path, "rb")
			local length = file and #file:read("*a") or 0
			local after = stamp()
			if not file then
				return refused("no marker file " .. n)
			end
			file:close()
			record("m", "read" .. n, before, after)
			return true, "marker " .. n .. " " .. length
		end,
	})

	-- What is not loaded is read from the map, and nothing is generated.
	minetest.register_chatcommand("tickdisk_look", {
		params = "<x> <y> <z>",
		description = "Answers `look <x> <y> <z> <kind> <name>`, where the kind is `placed`, `air` or `other`",
		func = function(_, text)
			local x, y, z = text:match("^(%-?%d+) (%-?%d+) (%-?%d+)$")
			if not x then
				return refused("usage: /tickdisk_look <x> <y> <z>")
			end
			local position = {x = tonumber(x), y = tonumber(y), z = tonumber(z)}
			minetest.load_area(position)
			local name = minetest.get_node(position).name
			if name == "ignore" then
				return refused("no terrain is stored at " .. text)
			end
			local kind = name == stone and "placed" or name == "air" and name or "other"
			return true, table.concat({"look", text, kind, name}, " ")
		end,
	})

	-- Players cannot be hurt, but for the moment of an attack. The health is restored before a player would die.
	minetest.register_chatcommand("tickdisk_attack", {
		params = "<n>",
		description = "Hits player <n> once and answers `attacked <n> <health>`",
		func = function(name, n)
			local attacker, number = minetest.get_player_by_name(name), tonumber(n:match("^%d+$"))
			local target = number and minetest.get_player_by_name(string.format("p%03d", number))
			if not (attacker and target) then
				return refused("there is no player " .. n .. " to attack")
			end
			target:set_armor_groups({fleshy = 100})
			target:punch(attacker, 1, npcs.hit)
			target:set_armor_groups({immortal = 1})
			local health = target:get_hp()
			if health <= npcs.least_health then
				target:set_hp(target:get_properties().hp_max)
			end
			return true, "attacked " .. n .. " " .. health
		end,
	})

	minetest.register_chatcommand("tickdisk_npc", {
		params = "<n>",
		description = "Puts NPC <n> beside the player and answers `npc <n>`",
		func = function(name, n)
			local player = minetest.get_player_by_name(name)
			if not (player and n:match("^%d+$") and npcs.add(n, player)) then
				return refused("no NPC can be put beside " .. name)
			end
			return true, "npc " .. n
		end,
	})

	minetest.register_chatcommand("tickdisk_kill", {
		params = "<n>",
		description = "Hits NPC <n> until it is dead and answers `killed <n> <hits>`",
		func = function(name, n)
			local player = minetest.get_player_by_name(name)
			local hits = player and npcs.kill(n, player)
			if not hits then
				return refused("there is no NPC " .. n)
			end
			return true, "killed " .. n .. " " .. hits
		end,
	})

	minetest.register_chatcommand("tickdisk_burn", {
		params = "<ms>",
		description = "Keeps the step's thread busy for so many milliseconds",
		func = function(_, ms)
			local duration_us = (tonumber(ms) or 0) * 1000
			local before = minetest.get_us_time()
			while minetest.get_us_time() - before < duration_us do end
			record("m", "burn", string.format("%d", before), stamp())
			return true, "burnt " .. ms
		end,
	})
end
