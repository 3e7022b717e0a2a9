package tickdisk;

import com.destroystokyo.paper.event.server.ServerTickEndEvent;
import com.destroystokyo.paper.event.server.ServerTickStartEvent;
import io.papermc.paper.event.player.AsyncPlayerSpawnLocationEvent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import org.bukkit.Bukkit;
import org.bukkit.GameMode;
import org.bukkit.GameRule;
import org.bukkit.Material;
import org.bukkit.World;
import org.bukkit.block.Block;
import org.bukkit.command.Command;
import org.bukkit.command.CommandSender;
import org.bukkit.entity.Player;
import org.bukkit.event.EventHandler;
import org.bukkit.event.Listener;
import org.bukkit.event.block.BlockBreakEvent;
import org.bukkit.event.block.BlockPlaceEvent;
import org.bukkit.event.player.AsyncPlayerPreLoginEvent;
import org.bukkit.event.player.PlayerJoinEvent;
import org.bukkit.event.server.ServerLoadEvent;
import org.bukkit.event.world.ChunkLoadEvent;
import org.bukkit.inventory.ItemStack;
import org.bukkit.plugin.java.JavaPlugin;
import sun.misc.Signal;

/**
 * Probe is a plugin for PaperMC that records ticks, does what players ask for by commands, and holds answers back. Files and folders are
 * named by properties of the virtual machine that begin with `tickdisk.`.
 */
public final class Probe extends JavaPlugin implements Listener {
	private static final int STONES = 64;
	private static final int TICK_MS = 50;

	private Recorder recorder;
	private Places places;
	private Path folder;
	private Path markers;
	private Actions actions;
	private long startNS;

	@Override
	public void onEnable() {
		folder = Path.of(System.getProperty("tickdisk.folder"));
		Signal.handle(new Signal("TERM"), _ -> Bukkit.getScheduler().runTask(this, Bukkit::shutdown));
		try {
			if (System.getProperty("tickdisk.generate") == null) {
				recorder = new Recorder(folder.resolve("ticks.csv"));
				places = Places.read(folder.resolve("places.txt"));
				markers = Path.of(System.getProperty("tickdisk.markers"));
				actions = new Actions();
			}
		} catch (NotStarted reason) {
			getLogger().severe(reason.getMessage());
			Bukkit.shutdown();
			return;
		}
		Bukkit.getPluginManager().registerEvents(this, this);
	}

	@Override
	public void onDisable() {
		try {
			if (recorder != null) recorder.close();
		} catch (IOException | InterruptedException reason) {
			getLogger().log(Level.SEVERE, "the record was not closed", reason);
		}
	}

	/** Makes the world and ends, or tells that players can join. */
	@EventHandler
	public void onLoad(ServerLoadEvent event) {
		World world = Bukkit.getWorlds().getFirst();
		world.setGameRule(GameRule.DO_MOB_SPAWNING, false);
		world.setGameRule(GameRule.DO_DAYLIGHT_CYCLE, false);
		world.setGameRule(GameRule.DO_WEATHER_CYCLE, false);
		try {
			if (recorder == null) {
				Generation making = new Generation(this, world, Integer.getInteger("tickdisk.generate"), folder.resolve("generated.json"));
				Bukkit.getScheduler().runTaskTimer(this, making, 1, 1);
			} else {
				Files.createFile(folder.resolve("ready"));
			}
		} catch (IOException reason) {
			getLogger().log(Level.SEVERE, "a file cannot be written", reason);
			Bukkit.shutdown();
		}
	}

	@EventHandler
	public void onTickStart(ServerTickStartEvent event) {
		startNS = System.nanoTime();
	}

	@EventHandler
	public void onTickEnd(ServerTickEndEvent event) {
		if (recorder == null || startNS == 0) return;
		recorder.tick(startNS, System.nanoTime(), Bukkit.getOnlinePlayers().size(), 0); // The kernel knows the thread by its name.
	}

	@EventHandler
	public void onChunk(ChunkLoadEvent event) {
		if (recorder != null && event.isNewChunk()) recorder.generated();
	}

	/** Refuses players that have no place, and holds a join back in its own thread. */
	@EventHandler
	public void onLogin(AsyncPlayerPreLoginEvent event) throws InterruptedException {
		try {
			places.of(event.getName());
		} catch (NotStarted reason) {
			event.disallow(AsyncPlayerPreLoginEvent.Result.KICK_OTHER, net.kyori.adventure.text.Component.text(reason.getMessage()));
			return;
		}
		Thread.sleep(delayMS());
	}

	@EventHandler
	public void onSpawn(AsyncPlayerSpawnLocationEvent event) throws NotStarted {
		Places.Place place = places.of(event.getConnection().getProfile().getName());
		event.setSpawnLocation(place.feet(Bukkit.getWorlds().getFirst()));
	}

	@EventHandler
	public void onJoin(PlayerJoinEvent event) {
		Player player = event.getPlayer();
		player.setGameMode(GameMode.CREATIVE);
		player.setAllowFlight(true);
		player.setFlying(true);
		player.getInventory().setItemInMainHand(new ItemStack(Material.STONE, STONES));
	}

	@EventHandler
	public void onPlace(BlockPlaceEvent event) {
		if (delayMS() == 0) return;
		Block block = event.getBlock();
		Material wanted = event.getBlockPlaced().getType();
		event.setCancelled(true);
		later(() -> block.setType(wanted));
	}

	@EventHandler
	public void onBreak(BlockBreakEvent event) {
		if (delayMS() == 0) return;
		Block block = event.getBlock();
		event.setCancelled(true);
		later(() -> block.setType(Material.AIR));
	}

	@Override
	public boolean onCommand(CommandSender sender, Command command, String label, String[] words) {
		if (!(sender instanceof Player player) || actions == null) return false;
		try {
			int[] numbers = new int[words.length];
			for (int at = 0; at < words.length; at++) numbers[at] = Integer.parseInt(words[at]);
			switch (command.getName()) {
				case "tickdisk_ping" -> player.sendMessage("pong " + numbers[0]);
				case "tickdisk_teleport" -> later(() -> actions.teleport(player, numbers));
				case "tickdisk_marker" -> actions.marker(player, numbers[0], markers, recorder);
				case "tickdisk_burn" -> actions.burn(player, numbers[0], recorder);
				case "tickdisk_look" -> actions.look(player, numbers);
				case "tickdisk_attack" -> actions.attack(player, numbers[0]);
				case "tickdisk_npc" -> actions.npc(player, numbers[0]);
				case "tickdisk_kill" -> actions.kill(player, numbers[0]);
				default -> {
					return false;
				}
			}
		} catch (NumberFormatException | ArrayIndexOutOfBoundsException _) {
			player.sendMessage("refused: " + label + " takes whole numbers");
		}
		return true;
	}

	/** Does something at once, or so many ticks later as answers are held back. */
	private void later(Runnable action) {
		long ticks = delayMS() / TICK_MS;
		if (ticks == 0) action.run();
		else Bukkit.getScheduler().runTaskLater(this, action, ticks);
	}

	private long delayMS() {
		try {
			return Long.parseLong(Files.readString(folder.resolve("action_delay_ms")).strip());
		} catch (IOException | NumberFormatException _) {
			return 0;
		}
	}
}
