-- Generates the square of terrain that runs start from, which is one layer of mapgen chunks high. Then writes the places where
-- players can stand. A place is the middle of a mapgen chunk. All map blocks within two blocks of a place belong to its chunk, so
-- no two places share a block.

local BLOCK = 16
local CHUNK = 5 * BLOCK
local OFFSET = -2 * BLOCK -- A chunk starts here, if mapgen_limit and chunksize have their defaults.
local HALF = CHUNK / 2
local WATER = tonumber(minetest.get_mapgen_setting("water_level"))
local TOWER = 12 -- Number of nodes that a player may place on top of each other, from its place upwards.
local QUEUED = 16 -- Number of chunks that wait for an emerge thread.

return function(open, path, edge_chunks)
	local first = -math.floor(edge_chunks / 2)
	local places, generated = {}, 0

	-- The engine draws trees from its own random numbers, which have no seed. The height of a place therefore follows the ground
	-- (or the water), and the place is cleared up to the height of a tower. It lies in the middle block of the layer. If the ground is
	-- higher, the place is a shaft in the rock.
	minetest.register_on_generated(function(minp, maxp)
		generated = generated + (maxp.x - minp.x + 1) * (maxp.y - minp.y + 1) * (maxp.z - minp.z + 1) / BLOCK ^ 3
		local ground = minetest.get_mapgen_object("heightmap")[HALF * CHUNK + HALF + 1]
		local place = {x = minp.x + HALF, y = math.min(math.max(ground, WATER) + 3, BLOCK - 2), z = minp.z + HALF}
		for y = place.y - 1, place.y + TOWER do
			minetest.set_node({x = place.x, y = y, z = place.z}, {name = "air"})
		end
		places[#places + 1] = place
	end)

	local function finish()
		table.sort(places, function(a, b)
			return a.z < b.z or a.z == b.z and a.x < b.x
		end)
		local file = open(path, "w")
		file:write(minetest.write_json({blocks_generated = generated, places = places}))
		file:close()
		minetest.request_shutdown("generated")
	end

	-- The chunks of one phase do not touch each other, not even at corners. Their terrain therefore does not depend on which
	-- emerge thread is faster.
	local phases = {}
	for phase = 1, 4 do
		phases[phase] = {}
	end
	for row = 0, edge_chunks - 1 do
		for column = 0, edge_chunks - 1 do
			local chunks = phases[1 + row % 2 * 2 + column % 2]
			chunks[#chunks + 1] = {x = (first + column) * CHUNK + OFFSET + HALF, y = 0, z = (first + row) * CHUNK + OFFSET + HALF}
		end
	end

	local phase, started, done = 1, 0, 0
	local function advance()
		while done == #phases[phase] do -- A small world has empty phases.
			minetest.log("action", string.format("tickdisk: %d of 4 phases generated", phase))
			phase, started, done = phase + 1, 0, 0
			if phase > 4 then
				return finish()
			end
		end
		while started < #phases[phase] and started - done < QUEUED do
			started = started + 1
			local middle = phases[phase][started]
			minetest.emerge_area(middle, middle, function(_, action)
				if action == minetest.EMERGE_CANCELLED or action == minetest.EMERGE_ERRORED then
					error("the chunk around " .. minetest.pos_to_string(middle) .. " could not be generated")
				end
				done = done + 1
				advance()
			end)
		end
	end

	minetest.after(0, advance)
end
