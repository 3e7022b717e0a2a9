-- The entry of the probe. The probe writes to tmpfs, outside the world folder, so that it never touches the device under test.

local insecure = minetest.request_insecure_environment()
if not insecure then
	error("tickdisk_probe must be in secure.trusted_mods, because it writes outside the world folder")
end

local STONE = "default:stone" -- the node that players place
local folder = minetest.get_modpath(minetest.get_current_modname())
local settings = minetest.settings

local function open(path, mode)
	local file, reason = insecure.io.open(path, mode)
	if not file then
		error("tickdisk_probe cannot open " .. path .. ": " .. reason)
	end
	return file
end

if settings:get("tickdisk_generate") ~= "none" then
	dofile(folder .. "/generate.lua")(open, settings:get("tickdisk_output"), tonumber(settings:get("tickdisk_generate")))
else
	local record = dofile(folder .. "/record.lua")(open, settings:get("tickdisk_output"))
	local held = dofile(folder .. "/held.lua")(insecure, settings:get("tickdisk_output"):match("^.*/") .. "action_delay_ms")
	dofile(folder .. "/players.lua")(open, settings:get("tickdisk_spawns"), held, STONE)
	dofile(folder .. "/commands.lua")(record, held, dofile(folder .. "/npcs.lua"), STONE)
end
