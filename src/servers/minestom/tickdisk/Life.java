package tickdisk;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import net.kyori.adventure.text.Component;
import net.minestom.server.Auth;
import net.minestom.server.MinecraftServer;
import net.minestom.server.entity.GameMode;
import net.minestom.server.entity.Player;
import net.minestom.server.event.GlobalEventHandler;
import net.minestom.server.event.player.AsyncPlayerConfigurationEvent;
import net.minestom.server.event.player.AsyncPlayerPreLoginEvent;
import net.minestom.server.event.player.PlayerDisconnectEvent;
import net.minestom.server.event.player.PlayerSpawnEvent;
import net.minestom.server.event.server.ServerTickMonitorEvent;
import net.minestom.server.instance.InstanceContainer;
import net.minestom.server.instance.block.Block;
import net.minestom.server.item.ItemStack;
import net.minestom.server.listener.preplay.LoginListener;
import net.minestom.server.network.packet.client.configuration.ClientSelectKnownPacksPacket;
import net.minestom.server.network.player.PlayerSocketConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Life is one life of the server on a generated world. */
final class Life {
	private static final Duration UNLOAD_PERIOD = Duration.ofSeconds(1);
	private static final int STONES = 64;
	/** The block that players place. */
	static final Block STONE = Block.STONE;

	private final Logger logger = LoggerFactory.getLogger(Life.class);
	private final Path world;
	private final Places places;
	private final int radius;
	private final Saves saves;
	private Recorder recorder;
	private PlayerFiles files;
	private Chunks chunks;
	private Held held;
	private InstanceContainer instance;
	private FileChannel lock;
	private long thread;
	private volatile boolean isClosing;

	Life(Path world, Places places, int radius, Saves saves) {
		this.world = world;
		this.places = places;
		this.radius = radius;
		this.saves = saves;
	}

	/** Serves until the process gets a signal to end. It prints `ready` when players can join, and then saves periodically. */
	void serve(InetSocketAddress address, Path record, long savePeriodNS, int compressionThreshold)
			throws NotStarted, InterruptedException {
		Path map = Generator.map(world);
		if (!Files.isDirectory(map.resolve("region"))) throw new NotStarted(world + " holds no world, `generate` makes one");
		lock(map.resolve("session.lock"));
		recorder = new Recorder(record);
		files = new PlayerFiles(world.resolve("players"));
		MinecraftServer.setCompressionThreshold(compressionThreshold);
		MinecraftServer server = MinecraftServer.init(new Auth.Offline());
		MinecraftServer.getExceptionManager().setExceptionHandler(reason -> logger.error("exception: {}", reason.toString(), reason));
		Chunks.Loader loader = new Chunks.Loader(map, recorder, saves);
		instance = MinecraftServer.getInstanceManager().createInstanceContainer(loader);
		// Time stands still, so that it costs nothing. Chunks keep Minestom's own type, which sends stored terrain as it is: LightingChunk
		// would also compute light, for which it needs the neighbours of each chunk, and no player of ours sees light.
		instance.setTimeRate(0);
		GlobalEventHandler events = MinecraftServer.getGlobalEventHandler();
		chunks = new Chunks(instance, loader, radius, events);
		held = new Held(record.resolveSibling("action_delay_ms"));
		held.listen(MinecraftServer.getPacketListenerManager());
		new Commands(world.resolve("markers"), recorder, chunks, held).register(MinecraftServer.getCommandManager());
		listen(events);
		MinecraftServer.getSchedulerManager().buildTask(chunks::unload).repeat(UNLOAD_PERIOD).schedule();
		start(server, address);
		Runtime.getRuntime().addShutdownHook(new Thread(this::close, "close"));
		System.out.println("ready");
		savePeriodically(savePeriodNS);
	}

	/** Makes sure that no other server holds the world, whose files have no locks of their own. A killed process leaves no lock. */
	private void lock(Path path) throws NotStarted {
		try {
			lock = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
			if (lock.tryLock() == null) throw new NotStarted("another server holds the world in " + world + "; end it or name another world");
		} catch (IOException | OverlappingFileLockException reason) {
			throw new NotStarted("the world in " + world + " cannot be locked: " + reason);
		}
	}

	private void start(MinecraftServer server, InetSocketAddress address) throws NotStarted {
		try {
			server.start(address);
		} catch (RuntimeException reason) {
			throw new NotStarted("the server cannot listen on " + address + ", check that the port is free: " + reason.getMessage());
		}
	}

	private void listen(GlobalEventHandler events) {
		events.addListener(ServerTickMonitorEvent.class, event -> {
			// Minestom tells how long the tick took, and calls this at its end.
			long endNS = System.nanoTime(), durationNS = Math.round(event.getTickMonitor().getTickTime() * 1e6);
			if (thread == 0) thread = TickThread.number();
			recorder.tick(endNS - durationNS, endNS, MinecraftServer.getConnectionManager().getOnlinePlayerCount(), thread);
		});
		events.addListener(AsyncPlayerPreLoginEvent.class, this::admit);
		MinecraftServer.getPacketListenerManager().setConfigurationListener(ClientSelectKnownPacksPacket.class, this::takeKnownPacks);
		events.addListener(AsyncPlayerConfigurationEvent.class, event -> configure(event, event.getPlayer()));
		events.addListener(PlayerSpawnEvent.class, event -> equip(event.getPlayer()));
		events.addListener(PlayerDisconnectEvent.class, event -> {
			chunks.arrived(event.getPlayer());
			write(event.getPlayer());
		});
	}

	/** Refuses players that have no place or are in the game already. */
	private void admit(AsyncPlayerPreLoginEvent event) {
		String refusal = null;
		try {
			places.of(event.getGameProfile().name());
		} catch (NotStarted reason) {
			refusal = reason.getMessage();
		}
		if (isClosing) refusal = "The server closes.";
		UUID id = event.getGameProfile().uuid();
		if (MinecraftServer.getConnectionManager().getOnlinePlayerByUuid(id) != null) refusal = "Already logged in.";
		if (refusal != null) event.getConnection().kick(Component.text(refusal));
		// Minestom sets the profile after it has told the client that the login succeeded. A client that answers at once would be
		// disconnected, because its connection has no profile yet.
		if (event.getConnection() instanceof PlayerSocketConnection connection) connection.UNSAFE_setProfile(event.getGameProfile());
	}

	/**
	 * Takes a client's list of data packs. Minestom asks for it before it is ready for the answer, and would wait for minutes for an answer
	 * that came at once and was lost. The answer is therefore given again in the next tick, where a second one does nothing.
	 */
	private void takeKnownPacks(ClientSelectKnownPacksPacket packet, Player player) {
		LoginListener.selectKnownPacks(packet, player);
		MinecraftServer.getSchedulerManager().scheduleNextTick(() -> LoginListener.selectKnownPacks(packet, player));
	}

	/** Lets a player enter at its own place, after a delay. Its data are read, but a saved position is not used. */
	private void configure(AsyncPlayerConfigurationEvent event, Player player) {
		held.join();
		try {
			player.setRespawnPoint(files.withView(player.getUuid(), places.of(player.getUsername()).feet()));
		} catch (IOException | NotStarted reason) {
			logger.error("load player data of {}: {}", player.getUsername(), reason.toString());
		}
		chunks.expect(player, player.getRespawnPoint());
		player.setGameMode(GameMode.CREATIVE);
		event.setSpawningInstance(instance);
	}

	/** Gives a player stones, which do not run out in creative mode, and lets it fly. */
	private void equip(Player player) {
		chunks.arrived(player);
		player.getInventory().setItemStack(0, ItemStack.of(STONE.registry().material(), STONES));
		player.setFlying(true);
	}

	private void write(Player player) {
		try {
			files.write(player);
		} catch (IOException reason) {
			logger.error("save player data of {}: {}", player.getUsername(), reason.toString());
		}
	}

	private void savePeriodically(long periodNS) throws InterruptedException {
		for (long next = System.nanoTime() + periodNS;; next += periodNS) {
			TimeUnit.NANOSECONDS.sleep(next - System.nanoTime());
			if (isClosing) return;
			if (saves == Saves.TICK) saveInTick();
			else save();
		}
	}

	/** Saves, and records from when to when. */
	private void save() {
		long beginNS = System.nanoTime();
		chunks.save().join();
		recorder.save(beginNS, System.nanoTime());
	}

	/** Saves in the thread that ticks, at the start of its next tick, and waits for the end. */
	private void saveInTick() throws InterruptedException {
		CountDownLatch saved = new CountDownLatch(1);
		MinecraftServer.getSchedulerManager().scheduleNextTick(() -> {
			try {
				save();
			} finally {
				saved.countDown();
			}
		});
		// A server that closes has no next tick.
		while (!isClosing && !saved.await(UNLOAD_PERIOD.toMillis(), TimeUnit.MILLISECONDS)) continue;
	}

	/** Saves everything and ends the process. Without the halt its exit code would be that of a process that a signal ended. */
	private void close() {
		int code = 0;
		try {
			isClosing = true;
			// Minestom ends its ticks before players that it disconnects would be removed in one.
			MinecraftServer.getConnectionManager().getOnlinePlayers().forEach(this::write);
			MinecraftServer.stopCleanly();
			chunks.save().join();
			Pauses.record(recorder);
			recorder.close();
			lock.close();
		} catch (Exception reason) {
			logger.error("the server could not close in order: {}", reason.toString(), reason);
			code = 1;
		}
		Runtime.getRuntime().halt(code);
	}
}
