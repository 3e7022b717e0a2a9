-- Chat commands by which clients and experiments make the server do something. `stone` is the name of the node that players place.

return function(record, held, stone)
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
