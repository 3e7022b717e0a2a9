package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import org.bukkit.Bukkit;
import org.bukkit.World;
import org.bukkit.plugin.Plugin;

/**
 * Generation makes the chunks of a world, some in each tick, so that the server can write and drop them: squares of five by five chunks
 * around the origin, each with a place in its middle, and a margin that players at the edge see.
 */
final class Generation implements Runnable {
	private static final int SQUARE_CHUNKS = 5;
	private static final int CHUNK_BLOCKS = 16;
	private static final int MARGIN_CHUNKS = 4;
	private static final int CHUNKS_PER_TICK = 32;

	private final Plugin plugin;
	private final World world;
	private final int edge;
	private final Path output;
	private final int first;
	private final int count;
	private final StringBuilder places = new StringBuilder();
	private int made;

	Generation(Plugin plugin, World world, int edge, Path output) {
		this.plugin = plugin;
		this.world = world;
		this.edge = edge;
		this.output = output;
		first = -(edge / 2) * SQUARE_CHUNKS - SQUARE_CHUNKS / 2 - MARGIN_CHUNKS;
		count = edge * SQUARE_CHUNKS + 2 * MARGIN_CHUNKS;
	}

	/** Makes the next chunks. After the last, it saves the world, writes the number of chunks and the places as JSON, and ends the server. */
	@Override
	public void run() {
		for (int number = 0; number < CHUNKS_PER_TICK && made < count * count; number++, made++) {
			int x = first + made % count, z = first + made / count;
			world.getChunkAt(x, z, true);
			place(x, z);
			world.unloadChunkRequest(x, z);
		}
		if (made < count * count) return;
		world.save();
		try {
			Files.writeString(output, "{\"chunks_generated\": " + count * count + ", \"places\": [" + places + "]}\n");
		} catch (IOException reason) {
			plugin.getLogger().log(Level.SEVERE, "the places cannot be written", reason);
		}
		Bukkit.getScheduler().cancelTasks(plugin);
		Bukkit.shutdown();
	}

	/** Adds the place of a chunk, if it is the one in the middle of a square. */
	private void place(int x, int z) {
		if (Math.floorMod(x, SQUARE_CHUNKS) != 0 || Math.floorMod(z, SQUARE_CHUNKS) != 0) return;
		int column = Math.floorDiv(x, SQUARE_CHUNKS) + edge / 2, row = Math.floorDiv(z, SQUARE_CHUNKS) + edge / 2;
		if (column < 0 || column >= edge || row < 0 || row >= edge) return;
		int blockX = x * CHUNK_BLOCKS + CHUNK_BLOCKS / 2, blockZ = z * CHUNK_BLOCKS + CHUNK_BLOCKS / 2;
		int y = world.getHighestBlockYAt(blockX, blockZ) + 1;
		places.append(places.isEmpty() ? "" : ", ").append("{\"x\": " + blockX + ", \"y\": " + y + ", \"z\": " + blockZ + "}");
	}
}
