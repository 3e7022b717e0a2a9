package tickdisk;

/** Noise is a function of the position and the seed that looks random. */
record Noise(long seed) {
	/** Mixes a position to 64 bits. */
	long hash(int x, int y, int z) {
		long h = seed ^ x * 0x9e3779b97f4a7c15L ^ y * 0xc2b2ae3d27d4eb4fL ^ z * 0x165667b19e3779f9L;
		h = (h ^ h >>> 32) * 0xd6e8feb86659fd93L;
		h = (h ^ h >>> 32) * 0xd6e8feb86659fd93L;
		return h ^ h >>> 32;
	}

	/** Returns a value from 0 to 1 that changes smoothly over so many blocks (value noise). */
	double at(int x, int y, int z, int spacing) {
		int cellX = Math.floorDiv(x, spacing), cellY = Math.floorDiv(y, spacing), cellZ = Math.floorDiv(z, spacing);
		double shareX = share(x, spacing), shareZ = share(z, spacing);
		double low = level(cellX, cellY, cellZ, shareX, shareZ, spacing), high = level(cellX, cellY + 1, cellZ, shareX, shareZ, spacing);
		return mix(low, high, share(y, spacing));
	}

	private double level(int x, int y, int z, double shareX, double shareZ, int spacing) {
		double near = mix(corner(x, y, z, spacing), corner(x + 1, y, z, spacing), shareX);
		return mix(near, mix(corner(x, y, z + 1, spacing), corner(x + 1, y, z + 1, spacing), shareX), shareZ);
	}

	private double corner(int x, int y, int z, int spacing) {
		return (hash(x, (y << 8) + spacing, z) >>> 11) / (double) (1L << 53);
	}

	/** Returns how far a position is into its cell, from 0 to 1, with a slope of 0 at both ends. */
	private static double share(int x, int spacing) {
		double part = (double) Math.floorMod(x, spacing) / spacing;
		return part * part * (3 - 2 * part);
	}

	private static double mix(double from, double to, double share) {
		return from + (to - from) * share;
	}
}
