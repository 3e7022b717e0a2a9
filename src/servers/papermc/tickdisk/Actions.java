package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.bukkit.Bukkit;
import org.bukkit.GameMode;
import org.bukkit.Location;
import org.bukkit.Material;
import org.bukkit.World;
import org.bukkit.attribute.Attribute;
import org.bukkit.block.Block;
import org.bukkit.entity.Pig;
import org.bukkit.entity.Player;

/** Actions does what players ask for by commands. All but a look runs in the thread that ticks. */
final class Actions {
	private static final int MOST_HITS = 100;
	private static final double LOW_HEALTH = 8;

	private final Map<Integer, Pig> npcs = new HashMap<>();

	/** Moves the player above a place, as soon as the chunk there is loaded. */
	void teleport(Player player, int[] at) {
		Location target = new Places.Place(at[0], at[1], at[2]).feet(player.getWorld());
		target.setYaw(player.getYaw());
		target.setPitch(player.getPitch());
		player.teleportAsync(target);
	}

	/** Reads a file that nothing has read before, so the read reaches the device between the two recorded times. */
	void marker(Player player, int number, Path markers, Recorder recorder) {
		long beforeNS = System.nanoTime();
		try {
			byte[] content = Files.readAllBytes(markers.resolve(String.valueOf(number)));
			recorder.marker("read" + number, beforeNS, System.nanoTime());
			player.sendMessage("marker " + number + " " + content.length);
		} catch (IOException _) {
			player.sendMessage("refused: there is no marker " + number);
		}
	}

	/** Keeps the thread busy, as a plugin with a slow computation would. */
	void burn(Player player, int durationMS, Recorder recorder) {
		long beforeNS = System.nanoTime(), durationNS = durationMS * 1_000_000L;
		while (System.nanoTime() - beforeNS < durationNS) Thread.onSpinWait();
		recorder.marker("burn", beforeNS, System.nanoTime());
		player.sendMessage("burnt " + durationMS);
	}

	/** Says which block is at a position. A chunk that is not stored is not generated, and the look is refused. */
	void look(Player player, int[] at) {
		World world = player.getWorld();
		String where = at[0] + " " + at[1] + " " + at[2];
		if (at[1] < world.getMinHeight() || at[1] >= world.getMaxHeight()) {
			player.sendMessage("refused: " + where + " is above or below the world");
			return;
		}
		world.getChunkAtAsync(at[0] >> 4, at[2] >> 4, false).whenComplete((chunk, reason) -> {
			if (reason != null || chunk == null) {
				player.sendMessage("refused: the terrain at " + where + " is not stored, or it cannot be read");
				return;
			}
			Block block = world.getBlockAt(at[0], at[1], at[2]);
			String kind = block.getType() == Material.STONE ? "placed" : block.getType().isAir() ? "air" : "other";
			player.sendMessage("look " + where + " " + kind + " " + block.getType().getKey());
		});
	}

	/** Hits another player once, and heals it if its health gets low. */
	void attack(Player player, int number) {
		Player other = Bukkit.getPlayerExact(String.format("p%03d", number));
		if (other == null) {
			player.sendMessage("refused: player " + number + " is not in the game");
			return;
		}
		double before = other.getHealth();
		other.setGameMode(GameMode.SURVIVAL); // Nothing hurts a player in creative mode.
		other.setNoDamageTicks(0);
		other.damage(1, player);
		other.setGameMode(GameMode.CREATIVE);
		other.setFlying(true);
		if (other.getHealth() >= before) {
			player.sendMessage("refused: player " + number + " is not hurt");
			return;
		}
		player.sendMessage("attacked " + number + " " + other.getHealth());
		if (other.getHealth() < LOW_HEALTH) other.setHealth(other.getAttribute(Attribute.MAX_HEALTH).getValue());
	}

	void npc(Player player, int number) {
		npcs.put(number, player.getWorld().spawn(player.getLocation(), Pig.class, pig -> {
			pig.setAI(false);
			pig.setGravity(false);
			pig.setPersistent(true);
			pig.setRemoveWhenFarAway(false);
		}));
		player.sendMessage("npc " + number);
	}

	void kill(Player player, int number) {
		Pig npc = npcs.remove(number);
		if (npc == null || !npc.isValid()) {
			player.sendMessage("refused: there is no NPC " + number);
			return;
		}
		int hits = 0;
		for (; !npc.isDead() && hits < MOST_HITS; hits++) {
			npc.setNoDamageTicks(0);
			npc.damage(1, player);
		}
		player.sendMessage(npc.isDead() ? "killed " + number + " " + hits : "refused: NPC " + number + " cannot be killed");
	}
}
