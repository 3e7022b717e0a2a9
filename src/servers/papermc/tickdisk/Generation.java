package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bukkit.World;

/** Generation makes the chunks of a world: squares of five by five chunks around the origin, each with a place in its middle. */
final class Generation {
	private static final int SQUARE_CHUNKS = 5;
	private static final int CHUNK_BLOCKS = 16;

	private Generation() {}

	/** Makes all chunks, saves them, and writes their number and the places as JSON. */
	static void run(World world, int edge, Path output) throws IOException {
		int first = -(edge / 2) * SQUARE_CHUNKS - SQUARE_CHUNKS / 2, count = edge * SQUARE_CHUNKS;
		for (int z = first; z < first + count; z++)
			for (int x = first; x < first + count; x++) {
				world.getChunkAt(x, z, true);
				world.unloadChunk(x, z, true);
			}
		StringBuilder places = new StringBuilder();
		for (int row = 0; row < edge; row++)
			for (int column = 0; column < edge; column++) {
				int x = middle(column - edge / 2), z = middle(row - edge / 2), y = world.getHighestBlockYAt(x, z) + 1;
				places.append(places.isEmpty() ? "" : ", ").append("{\"x\": " + x + ", \"y\": " + y + ", \"z\": " + z + "}");
			}
		world.save();
		Files.writeString(output, "{\"chunks_generated\": " + count * count + ", \"places\": [" + places + "]}\n");
	}

	private static int middle(int square) {
		return square * SQUARE_CHUNKS * CHUNK_BLOCKS + CHUNK_BLOCKS / 2;
	}
}
