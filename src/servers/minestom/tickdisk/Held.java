package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import net.minestom.server.ServerFlag;
import net.minestom.server.entity.Player;
import net.minestom.server.listener.BlockPlacementListener;
import net.minestom.server.listener.PlayerActionListener;
import net.minestom.server.listener.manager.PacketListenerManager;
import net.minestom.server.network.packet.client.play.ClientPlayerActionPacket;
import net.minestom.server.network.packet.client.play.ClientPlayerBlockPlacementPacket;
import net.minestom.server.timer.TaskSchedule;

/** Held holds back answers to players for the time in milliseconds that a file has. An experiment may change it at any moment. */
final class Held {
	private final Path file;

	Held(Path file) {
		this.file = file;
	}

	/** Holds back the changes of blocks by players, from the arrival of the packet that asks for them. */
	void listen(PacketListenerManager packets) {
		packets.setPlayListener(ClientPlayerBlockPlacementPacket.class,
				(packet, player) -> back(player, () -> BlockPlacementListener.listener(packet, player)));
		packets.setPlayListener(ClientPlayerActionPacket.class,
				(packet, player) -> back(player, () -> PlayerActionListener.playerActionListener(packet, player)));
	}

	/** Does a player's action in the tick that comes after the delay, which does not wait for it. Without a delay it is done at once. */
	void back(Player player, Runnable action) {
		int ticks = Math.toIntExact(delayMS() * ServerFlag.SERVER_TICKS_PER_SECOND / 1000);
		if (ticks == 0) action.run();
		else player.scheduler().buildTask(action).delay(TaskSchedule.tick(ticks)).schedule();
	}

	/** Holds back a join, whose thread is its own. */
	void join() {
		try {
			Thread.sleep(delayMS());
		} catch (InterruptedException _) {
			Thread.currentThread().interrupt();
		}
	}

	private long delayMS() {
		try {
			return Long.parseLong(Files.readString(file).strip());
		} catch (IOException | NumberFormatException _) {
			return 0;
		}
	}
}
