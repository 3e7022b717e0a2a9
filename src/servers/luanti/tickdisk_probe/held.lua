-- Holds back the server's answers to players for the time in milliseconds that a file has. An experiment may change it at any moment.
--
-- Lua runs only in a step, so the delay is counted in steps. A change of a node is shown at the end of the step after which the player
-- asked for it, and terrain at a new place is sent from the step after the move on. A change therefore waits for one step more.

return function(insecure, path)
	local STEP_MS = tonumber(minetest.settings:get("dedicated_server_step")) * 1000
	local FAR = {x = 0, y = 31500, z = 0} -- No block lies beyond 31,007 nodes, so that none is loaded or sent.
	local step, waiting = 0, {}

	local function delay_steps()
		local file = insecure.io.open(path, "r")
		local text = file and file:read("*a") or ""
		if file then
			file:close()
		end
		return math.floor((tonumber(text) or 0) / STEP_MS + 0.5)
	end

	-- Lets an action of a player be done later, or returns false if there is no delay.
	local function back(player, more_steps, action)
		local steps = delay_steps()
		if steps > 0 then
			waiting[#waiting + 1] = {step = step + steps + more_steps, player = player:get_player_name(), action = action}
		end
		return steps > 0
	end

	minetest.register_globalstep(function()
		local still = {}
		step = step + 1
		for _, held in ipairs(waiting) do
			local player = minetest.get_player_by_name(held.player)
			if step < held.step then
				still[#still + 1] = held
			elseif player then
				held.action(player)
			end
		end
		waiting = still
	end)

	local dig, place = minetest.node_dig, minetest.item_place

	function minetest.node_dig(pos, node, digger)
		return back(digger, 1, function(player)
			dig(pos, minetest.get_node(pos), player)
		end) or dig(pos, node, digger)
	end

	function minetest.item_place(stack, placer, pointed, ...)
		local held = ItemStack(stack)
		if back(placer, 1, function(player)
			place(held, player, pointed)
		end) then
			return stack
		end
		return place(stack, placer, pointed, ...)
	end

	return {
		-- Moves a player, and so sends it the terrain there.
		move = function(player, position)
			if not back(player, 0, function(later)
				later:set_pos(position)
			end) then
				player:set_pos(position)
			end
		end,
		-- Moves a player that joins. It waits where there is no terrain, because its join would be complete where there is some.
		enter = function(player, position)
			local is_held = back(player, 0, function(later)
				later:set_pos(position)
			end)
			player:set_pos(is_held and FAR or position)
		end,
	}
end
