package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.UUID;
import net.kyori.adventure.nbt.BinaryTagIO;
import net.kyori.adventure.nbt.CompoundBinaryTag;
import net.minestom.server.coordinate.Pos;
import net.minestom.server.entity.Player;
import net.minestom.server.item.ItemStack;

/**
 * PlayerFiles keeps the data of each player in a file of its own.
 *
 * <p>Minestom stores no players. This policy is ours, so that a join and a leave touch the disk as they do in other servers: the file is
 * read while a player joins, and a new file takes its place when the player leaves, as in Minecraft's own server. Nothing calls fsync.
 */
final class PlayerFiles {
	private final Path folder;

	PlayerFiles(Path folder) throws NotStarted {
		this.folder = folder;
		try {
			Files.createDirectories(folder);
		} catch (IOException reason) {
			throw new NotStarted("the folder of the players' data cannot be made: " + reason);
		}
	}

	/** Returns a position with the view that the player had when it left. */
	Pos withView(UUID player, Pos position) throws IOException {
		Path path = path(player);
		if (!Files.exists(path)) return position;
		CompoundBinaryTag stored = BinaryTagIO.reader().read(path, BinaryTagIO.Compression.GZIP);
		return position.withView(stored.getFloat("Yaw"), stored.getFloat("Pitch"));
	}

	/** Writes the data of a player. */
	void write(Player player) throws IOException {
		Pos position = player.getPosition();
		CompoundBinaryTag.Builder items = CompoundBinaryTag.builder();
		for (int slot = 0; slot < player.getInventory().getSize(); slot++) {
			ItemStack stack = player.getInventory().getItemStack(slot);
			items.putString("Slot" + slot, stack.material().name() + " " + stack.amount());
		}
		CompoundBinaryTag data = CompoundBinaryTag.builder()
				.putString("Name", player.getUsername()).putString("GameMode", player.getGameMode().name())
				.putDouble("X", position.x()).putDouble("Y", position.y()).putDouble("Z", position.z())
				.putFloat("Yaw", position.yaw()).putFloat("Pitch", position.pitch())
				.putFloat("Health", player.getHealth()).putInt("Food", player.getFood()).putByte("HeldSlot", player.getHeldSlot())
				.put("Inventory", items.build()).build();
		Path path = path(player.getUuid()), partial = path.resolveSibling(path.getFileName() + ".partial");
		BinaryTagIO.writer().writeNamed(Map.entry("", data), partial, BinaryTagIO.Compression.GZIP);
		Files.move(partial, path, StandardCopyOption.ATOMIC_MOVE);
	}

	private Path path(UUID player) {
		return folder.resolve(player + ".dat");
	}
}
