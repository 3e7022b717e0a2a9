package tickdisk;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import net.minestom.server.coordinate.CoordConversion;
import net.minestom.server.coordinate.Point;
import net.minestom.server.entity.Player;
import net.minestom.server.event.Event;
import net.minestom.server.event.EventNode;
import net.minestom.server.event.instance.InstanceBlockUpdateEvent;
import net.minestom.server.event.player.PlayerChunkUnloadEvent;
import net.minestom.server.instance.Chunk;
import net.minestom.server.instance.Instance;
import net.minestom.server.instance.anvil.AnvilLoader;
import net.minestom.server.instance.block.Block;

/**
 * Chunks saves the chunks that changed, and unloads those that no player sees any more.
 *
 * <p>Minestom leaves both to the program. It does not know which chunks changed, and its own save writes all loaded chunks. Here a save
 * writes the chunks in which a block changed since they were last written, as Minecraft's own server does.
 */
final class Chunks {
	private final Instance instance;
	private final Loader loader;
	private final int radius;
	private final Set<Chunk> changed = ConcurrentHashMap.newKeySet();
	private final Map<Chunk, CompletableFuture<Void>> saving = new ConcurrentHashMap<>();
	private final Set<Chunk> left = ConcurrentHashMap.newKeySet();
	/** The positions to which players are on their way, whose chunks must stay. */
	private final Map<Player, Point> targets = new ConcurrentHashMap<>();

	/** Loader reads and writes the chunks of a world, and counts those that are not stored. They stay empty. */
	static final class Loader extends AnvilLoader {
		private final Path regions;
		private final Recorder recorder;
		private final Saves saves;
		/** The chunks that were not stored, or could not be read. */
		private final Set<Long> missing = ConcurrentHashMap.newKeySet();

		Loader(Path map, Recorder recorder, Saves saves) {
			super(map);
			this.regions = map.resolve("region");
			this.recorder = recorder;
			this.saves = saves;
		}

		@Override
		public void saveChunk(Chunk chunk) {
			super.saveChunk(chunk);
			if (saves == Saves.SYNC) sync(regions.resolve("r." + (chunk.getChunkX() >> 5) + "." + (chunk.getChunkZ() >> 5) + ".mca"));
		}

		/** Waits until all that was written to a file is on the disk, whoever wrote it. */
		private static void sync(Path file) {
			try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
				channel.force(true);
			} catch (IOException reason) {
				throw new UncheckedIOException(reason);
			}
		}

		@Override
		public Chunk loadChunk(Instance instance, int x, int z) {
			Chunk chunk = super.loadChunk(instance, x, z);
			if (chunk == null) recorder.generated();
			long index = CoordConversion.chunkIndex(x, z);
			if (chunk == null) missing.add(index);
			else missing.remove(index);
			return chunk;
		}

		/**
		 * Keeps the region's file open. Minestom closes it with the last chunk of the region, while another thread may be about to read a
		 * chunk from it. That chunk would then be taken for one that is not stored.
		 */
		@Override
		public void unloadChunk(Chunk chunk) {}
	}

	Chunks(Instance instance, Loader loader, int radius, EventNode<Event> events) {
		this.instance = instance;
		this.loader = loader;
		this.radius = radius;
		events.addListener(InstanceBlockUpdateEvent.class, event -> changed.add(instance.getChunkAt(event.getBlockPosition())));
		events.addListener(PlayerChunkUnloadEvent.class, event -> {
			Chunk chunk = instance.getChunk(event.getChunkX(), event.getChunkZ());
			if (chunk != null) left.add(chunk);
		});
	}

	/** Keeps the chunks around a position until the player has arrived there. */
	void expect(Player player, Point position) {
		targets.put(player, position);
	}

	/** Says that a player has arrived, or will not come. */
	void arrived(Player player) {
		targets.remove(player);
	}

	/**
	 * Returns the block at a position when its chunk is loaded, or null if there is no stored chunk that can be read. A chunk that no player
	 * sees is unloaded again.
	 */
	CompletableFuture<Block> look(Point position) {
		return instance.loadChunk(position).thenApply(chunk -> {
			left.add(chunk);
			boolean isMissing = loader.missing.contains(CoordConversion.chunkIndex(chunk.getChunkX(), chunk.getChunkZ()));
			return isMissing ? null : chunk.getBlock(position);
		});
	}

	/**
	 * Saves all chunks that changed. It is complete when these and all earlier saves are. Virtual threads write the chunks, or else the
	 * thread that calls this.
	 */
	CompletableFuture<Void> save() {
		changed.forEach(this::save);
		return CompletableFuture.allOf(saving.values().toArray(CompletableFuture[]::new));
	}

	/**
	 * Unloads the chunks that players left and that nobody sees now, after it has saved those that changed. It must be called at the start
	 * of a tick, when no player moves.
	 */
	void unload() {
		left.removeIf(chunk -> {
			if (!chunk.isLoaded() || isSeen(chunk)) return true;
			if (changed.contains(chunk)) save(chunk);
			if (saving.containsKey(chunk)) return false;
			instance.unloadChunk(chunk);
			return true;
		});
	}

	/** Saves a chunk after an earlier save of it, whose older content could otherwise be written last. */
	private synchronized void save(Chunk chunk) {
		changed.remove(chunk); // A change during the save counts for the next one.
		if (loader.saves == Saves.TICK) {
			loader.saveChunk(chunk);
			return;
		}
		CompletableFuture<Void> earlier = saving.getOrDefault(chunk, CompletableFuture.completedFuture(null));
		CompletableFuture<Void> saved = earlier.thenCompose(_ -> instance.saveChunkToStorage(chunk));
		saving.put(chunk, saved);
		saved.thenRun(() -> saving.remove(chunk, saved));
	}

	private boolean isSeen(Chunk chunk) {
		Collection<Player> players = instance.getPlayers();
		return Stream.concat(players.stream().map(Player::getPosition), targets.values().stream()).anyMatch(
				position -> Math.max(Math.abs(position.chunkX() - chunk.getChunkX()), Math.abs(position.chunkZ() - chunk.getChunkZ())) <= radius);
	}
}
