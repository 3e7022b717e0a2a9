package tickdisk;

/** Saves says which thread writes chunks, and whether it waits for the disk. */
enum Saves {
	/** Virtual threads write chunks, and do not wait for the disk. */
	THREADS,
	/** The thread that ticks writes chunks, and does not wait for the disk. */
	TICK,
	/** Virtual threads write chunks, and wait until they are on the disk. */
	SYNC
}
