-- Writes the record of the probe, as src/servers/README.md describes it. Times are those of minetest.get_us_time(). Luanti does not
-- show the end of a step to Lua, nor the thread. Lines are kept in memory for at most FLUSH_US. They are then written and flushed.

local FLUSH_US = 500000

return function(open, path)
	local file = open(path, "w")
	local lines, steps, generated = {}, 0, 0
	local flushed_us = minetest.get_us_time()

	local function flush(now_us)
		if #lines > 0 then
			assert(file:write(table.concat(lines, "\n"), "\n"))
			assert(file:flush())
			lines = {}
		end
		flushed_us = now_us
	end

	local function record(...)
		lines[#lines + 1] = table.concat({...}, ",")
	end

	record("tickdisk_probe", 2, "monotonic_raw", "us")
	flush(flushed_us)

	minetest.register_globalstep(function(dtime)
		local now_us = minetest.get_us_time()
		steps = steps + 1
		local elapsed_us = string.format("%d", dtime * 1e6 + 0.5)
		record("t", steps, string.format("%d", now_us), "", #minetest.get_connected_players(), elapsed_us, "")
		if now_us - flushed_us >= FLUSH_US then
			flush(now_us)
		end
	end)

	minetest.register_on_generated(function(minp, maxp)
		generated = generated + (maxp.x - minp.x + 1) * (maxp.y - minp.y + 1) * (maxp.z - minp.z + 1) / 4096
		record("g", string.format("%d", minetest.get_us_time()), string.format("%d", generated))
	end)

	minetest.register_on_shutdown(function()
		local now_us = minetest.get_us_time()
		record("e", steps, string.format("%d", now_us), string.format("%d", generated))
		flush(now_us)
		file:close()
	end)

	return record
end
