-- Records what players do on a server as a player trace: joins, leaves, the blocks of 16 nodes into which players go, places, digs and
-- attacks of players. A trace has one JSON object in each line, whose due time counts from the first event. Players are called p000,
-- p001 and so on in the order in which they came, so that a trace names nobody.
--
-- The trace is written into the world's folder, into a file for each start of the server whose name has the time, such as
-- players-20261130-135122.jsonl. The setting tickdisk_recorder_output names another file, which needs a mod in secure.trusted_mods.

local BLOCK = 16
local FLUSH_US = 500000
local ENTER_US = 200000

local insecure = minetest.request_insecure_environment()
local path = minetest.settings:get("tickdisk_recorder_output") or minetest.get_worldpath() .. os.date("!/players-%Y%m%d-%H%M%S.jsonl")
local file = assert((insecure and insecure.io or io).open(path, "w"), "tickdisk_recorder cannot open " .. path)

local started_us, flushed_us
local names, count, blocks, entered_us = {}, 0, {}, {}

local function record(player, action, parameters)
	if not file then
		return
	end
	local name, now_us = player:get_player_name(), minetest.get_us_time()
	started_us = started_us or now_us
	flushed_us = flushed_us or now_us
	if not names[name] then
		names[name] = string.format("p%03d", count)
		count = count + 1
	end
	file:write(string.format('{"due_ns": %.0f, "player": "%s", "action": "%s", "parameters": {%s}}\n', (now_us - started_us) * 1000,
		names[name], action, parameters or ""))
	if now_us - flushed_us >= FLUSH_US then
		file:flush()
		flushed_us = now_us
	end
end

local function axes(pos)
	return string.format('"x": %d, "y": %d, "z": %d', pos.x, pos.y, pos.z)
end

-- Records that a player is in another block of 16 nodes than before. A player of a trace teleports there. The server and its mods
-- put a new player somewhere in the first steps after its join. They do the same with a new player of the trace.
local function follow(player)
	local pos = vector.round(player:get_pos())
	local block = vector.floor(vector.divide(pos, BLOCK))
	local name = player:get_player_name()
	if not blocks[name] or not vector.equals(blocks[name], block) then
		blocks[name] = block
		if not entered_us[name] or minetest.get_us_time() - entered_us[name] > ENTER_US then
			record(player, "teleport", axes(pos))
		end
	end
end

minetest.register_on_joinplayer(function(player, last_login)
	entered_us[player:get_player_name()] = not last_login and minetest.get_us_time() or nil
	record(player, "join")
	follow(player)
end)

minetest.register_on_leaveplayer(function(player)
	local name = player:get_player_name()
	record(player, "leave")
	blocks[name], entered_us[name] = nil, nil
end)

minetest.register_globalstep(function()
	for _, player in ipairs(minetest.get_connected_players()) do
		follow(player)
	end
end)

minetest.register_on_placenode(function(pos, _, placer)
	if placer and placer:is_player() then
		record(placer, "place", axes(pos))
	end
end)

minetest.register_on_dignode(function(pos, _, digger)
	if digger and digger:is_player() then
		record(digger, "dig", axes(pos))
	end
end)

minetest.register_on_punchplayer(function(player, hitter)
	local target = hitter and hitter:is_player() and names[player:get_player_name()]
	if target then
		record(hitter, "attack", '"player": ' .. tonumber(target:sub(2)))
	end
end)

minetest.register_on_shutdown(function()
	file:close()
	file = nil -- Players that are still there leave after this.
end)
