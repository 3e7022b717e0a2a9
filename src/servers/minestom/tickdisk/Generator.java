package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import net.minestom.server.MinecraftServer;
import net.minestom.server.instance.Chunk;
import net.minestom.server.instance.DynamicChunk;
import net.minestom.server.instance.InstanceContainer;
import net.minestom.server.instance.anvil.AnvilLoader;
import net.minestom.server.world.DimensionType;

/** Generator makes the world that server lives begin with. */
final class Generator {
	private static final int SQUARE_CHUNKS = 5; // The edge of a square, in whose middle a place lies.
	private static final int CHUNK_BLOCKS = 16;
	private static final int REGION_CHUNKS = 32; // The edge of the area whose chunks are stored in one file.

	private Generator() {}

	/** Position is the position of a chunk, or of a region. */
	private record Position(int x, int z) {}

	/** Returns the folder of a world that holds its terrain. */
	static Path map(Path world) {
		return world.resolve("map");
	}

	/** Writes the world of a seed into a new folder, edge times edge squares around the origin, and writes the places to a file. */
	static void run(Path world, long seed, int edge, Path output) throws NotStarted, IOException {
		if (edge < 1) throw new NotStarted("the world's edge must be at least one square of " + SQUARE_CHUNKS + " chunks, but is " + edge);
		Path folder = map(world);
		if (Files.exists(folder)) throw new NotStarted(folder + " is already there; remove it or name another folder for the world");
		Terrain terrain = new Terrain(seed);
		List<Position> chunks = chunks(edge);
		store(folder, terrain, chunks);
		String text = "{\"chunks_generated\": " + chunks.size() + ", \"places\": " + places(terrain, edge) + "}\n";
		Path partial = Files.writeString(Path.of(output + ".partial"), text);
		Files.move(partial, output, StandardCopyOption.ATOMIC_MOVE);
	}

	private static List<Position> chunks(int edge) {
		int first = -(edge / 2) * SQUARE_CHUNKS - SQUARE_CHUNKS / 2, count = edge * SQUARE_CHUNKS;
		List<Position> all = new ArrayList<>();
		for (int z = first; z < first + count; z++)
			for (int x = first; x < first + count; x++) all.add(new Position(x, z));
		return all;
	}

	/** Returns the block above the ground in the middle of each square as JSON, sorted by z, then x. */
	private static String places(Terrain terrain, int edge) {
		List<String> all = new ArrayList<>();
		for (int row = 0; row < edge; row++)
			for (int column = 0; column < edge; column++) {
				int x = middle(column - edge / 2), z = middle(row - edge / 2);
				all.add(String.format("{\"x\": %d, \"y\": %d, \"z\": %d}", x, terrain.ground(x, z) + 1, z));
			}
		return all.toString();
	}

	/** Returns the middle of a square. Square 0 has the origin's chunk in its middle. */
	private static int middle(int square) {
		return square * SQUARE_CHUNKS * CHUNK_BLOCKS + CHUNK_BLOCKS / 2;
	}

	/** Stores all chunks. Each region is written by one thread, so that its chunks lie in the file in the same order every time. */
	private static void store(Path folder, Terrain terrain, List<Position> chunks) throws IOException {
		MinecraftServer.init();
		// The loader hands errors to Minestom instead of the caller.
		Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
		MinecraftServer.getExceptionManager().setExceptionHandler(failures::add);
		AnvilLoader loader = new AnvilLoader(folder);
		InstanceContainer instance = new InstanceContainer(UUID.randomUUID(), DimensionType.OVERWORLD, loader);
		Map<String, List<Position>> regions = chunks.stream().collect(Collectors.groupingBy(
				chunk -> Math.floorDiv(chunk.x, REGION_CHUNKS) + " " + Math.floorDiv(chunk.z, REGION_CHUNKS), TreeMap::new, Collectors.toList()));
		regions.values().parallelStream().forEach(region -> {
			for (Position position : region) {
				if (!failures.isEmpty()) return;
				Chunk chunk = new DynamicChunk(instance, position.x, position.z);
				terrain.fill(chunk);
				loader.saveChunk(chunk);
			}
		});
		if (!failures.isEmpty()) throw new IOException("the terrain could not be written to " + folder, failures.peek());
	}
}
