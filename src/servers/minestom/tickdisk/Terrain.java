package tickdisk;

import net.minestom.server.instance.Chunk;
import net.minestom.server.instance.block.Block;

/** Terrain makes the content of chunks from a seed and nothing else: gentle hills of grass over rock with patches and ores. */
final class Terrain {
	private static final int MEAN_HEIGHT = 64;
	private static final int SOIL_BLOCKS = 4; // Grass and the dirt under it.
	private static final int SLATE_HEIGHT = 0; // Rock below this height is deepslate.
	private static final int CELL_BLOCKS = 4; // The edge of the cube in which one kind of ore lies.
	private static final int CHUNK_BLOCKS = 16;

	private static final int BEDROCK = Block.BEDROCK.stateId(), GRASS = Block.GRASS_BLOCK.stateId(), DIRT = Block.DIRT.stateId();
	private static final int STONE = Block.STONE.stateId(), SLATE = Block.DEEPSLATE.stateId(), TUFF = Block.TUFF.stateId();
	private static final int GRANITE = Block.GRANITE.stateId(), DIORITE = Block.DIORITE.stateId(), ANDESITE = Block.ANDESITE.stateId();
	private static final Ore[] ORES = {
		new Ore(Block.COAL_ORE, Block.DEEPSLATE_COAL_ORE, 128), new Ore(Block.IRON_ORE, Block.DEEPSLATE_IRON_ORE, 72),
		new Ore(Block.COPPER_ORE, Block.DEEPSLATE_COPPER_ORE, 96), new Ore(Block.GOLD_ORE, Block.DEEPSLATE_GOLD_ORE, 32),
		new Ore(Block.LAPIS_ORE, Block.DEEPSLATE_LAPIS_ORE, 64), new Ore(Block.DIAMOND_ORE, Block.DEEPSLATE_DIAMOND_ORE, 16),
	};

	private final Noise noise;

	/** Ore lies below a height. */
	private record Ore(Block inStone, Block inSlate, int below) {}

	Terrain(long seed) {
		noise = new Noise(seed);
	}

	/** Returns the height of the highest block at a position. The block above it is air. */
	int ground(int x, int z) {
		double hills = 16 * (noise.at(x, 0, z, 64) - 0.5);
		double bumps = 4 * (noise.at(x, 1, z, 16) - 0.5);
		return MEAN_HEIGHT + (int) (hills + bumps);
	}

	/** Fills an empty chunk. */
	void fill(Chunk chunk) {
		int firstX = chunk.getChunkX() * CHUNK_BLOCKS, firstZ = chunk.getChunkZ() * CHUNK_BLOCKS;
		int lowest = chunk.getMinSection() * CHUNK_BLOCKS;
		int[] grounds = new int[CHUNK_BLOCKS * CHUNK_BLOCKS];
		int highest = lowest;
		for (int column = 0; column < grounds.length; column++) {
			grounds[column] = ground(firstX + column % CHUNK_BLOCKS, firstZ + column / CHUNK_BLOCKS);
			highest = Math.max(highest, grounds[column]);
		}
		for (int first = lowest; first <= highest; first += CHUNK_BLOCKS) {
			int bottom = first;
			chunk.getSectionAt(first).blockPalette().setAll((x, y, z) -> {
				int height = bottom + y, depth = grounds[z * CHUNK_BLOCKS + x] - height;
				return depth < 0 ? 0 : block(firstX + x, height, firstZ + z, height - lowest, depth);
			});
		}
	}

	/** Returns the state of a block that lies so many blocks above the lowest block and below the ground. */
	private int block(int x, int y, int z, int height, int depth) {
		if (height <= (noise.hash(x, y, z) & 3)) return BEDROCK; // Bedrock has a rough upper side.
		if (depth == 0) return GRASS;
		if (depth < SOIL_BLOCKS) return DIRT;
		boolean inSlate = y < SLATE_HEIGHT;
		Ore ore = ore(x, y, z);
		if (ore != null) return (inSlate ? ore.inSlate : ore.inStone).stateId();
		double patch = noise.at(x, y, z, 8);
		if (inSlate) return patch < 0.25 ? TUFF : SLATE;
		if (patch < 0.2) return GRANITE;
		if (patch > 0.8) return DIORITE;
		if (patch > 0.45 && patch < 0.5) return ANDESITE;
		return patch > 0.6 && patch < 0.62 ? DIRT : STONE;
	}

	/** Returns the ore at a position or null. One cube in four holds an ore, in a quarter of its blocks. */
	private Ore ore(int x, int y, int z) {
		long cube = noise.hash(Math.floorDiv(x, CELL_BLOCKS), Math.floorDiv(y, CELL_BLOCKS) + (1 << 20), Math.floorDiv(z, CELL_BLOCKS));
		if ((cube & 3) != 0 || (noise.hash(x, y, z) >>> 8 & 3) != 0) return null;
		Ore found = ORES[(int) ((cube >>> 8) % ORES.length)];
		return y < found.below ? found : null;
	}
}
