package tickdisk;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import net.minestom.server.MinecraftServer;
import net.minestom.server.entity.EntityType;
import net.minestom.server.entity.LivingEntity;
import net.minestom.server.entity.Player;
import net.minestom.server.entity.damage.Damage;

/**
 * Fights lets players attack each other, and NPCs. They run in the thread that ticks.
 *
 * <p>Minestom stores no entities, so that an NPC that comes or dies leaves the disk alone.
 */
final class Fights {
	private static final float NPC_HEALTH = 2, DAMAGE = 1, LEAST_HEALTH = 10, MOST_HEALTH = 20;

	private final Map<Integer, LivingEntity> npcs = new ConcurrentHashMap<>();

	/** Lets a player hit another one once. Nothing hurts players in creative mode, but for the moment of an attack. */
	void attack(Player attacker, int number) {
		Player target = MinecraftServer.getConnectionManager().getOnlinePlayerByUsername(String.format("p%03d", number));
		if (target == null) {
			attacker.sendMessage("refused: there is no player " + number + " to attack");
			return;
		}
		target.setInvulnerable(false);
		target.damage(Damage.fromPlayer(attacker, DAMAGE));
		target.setInvulnerable(true);
		float health = target.getHealth();
		if (health <= LEAST_HEALTH) target.setHealth(MOST_HEALTH);
		attacker.sendMessage("attacked " + number + " " + health);
	}

	/** Puts an NPC beside a player. */
	void put(Player player, int number) {
		LivingEntity npc = new LivingEntity(EntityType.COW);
		npc.setNoGravity(true);
		npc.setHealth(NPC_HEALTH);
		npc.setInstance(player.getInstance(), player.getPosition().add(1, 0, 0)).thenRun(() -> {
			npcs.put(number, npc);
			player.sendMessage("npc " + number);
		});
	}

	/** Lets a player hit an NPC until it is dead. */
	void kill(Player player, int number) {
		LivingEntity npc = npcs.remove(number);
		if (npc == null) {
			player.sendMessage("refused: there is no NPC " + number);
			return;
		}
		int hits = 0;
		for (; !npc.isDead(); hits++) npc.damage(Damage.fromPlayer(player, DAMAGE));
		npc.remove();
		player.sendMessage("killed " + number + " " + hits);
	}
}
