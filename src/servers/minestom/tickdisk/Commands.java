package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import net.minestom.server.command.CommandManager;
import net.minestom.server.command.builder.Command;
import net.minestom.server.command.builder.CommandContext;
import net.minestom.server.command.builder.arguments.Argument;
import net.minestom.server.command.builder.arguments.ArgumentType;
import net.minestom.server.coordinate.Pos;
import net.minestom.server.coordinate.Vec;
import net.minestom.server.entity.Player;
import net.minestom.server.instance.block.Block;

/** Commands has the commands by which clients and experiments make the server do something. They run in the thread that ticks. */
final class Commands {
	private static final Argument<Integer> NUMBER = ArgumentType.Integer("n");
	private static final Argument<Integer> X = ArgumentType.Integer("x"), Y = ArgumentType.Integer("y"), Z = ArgumentType.Integer("z");

	private final Path markers;
	private final Recorder recorder;
	private final Chunks chunks;
	private final Held held;
	private final Fights fights = new Fights();

	/** Action is done for a player that gave a command. */
	private interface Action {
		void run(Player player, CommandContext given);
	}

	Commands(Path markers, Recorder recorder, Chunks chunks, Held held) {
		this.markers = markers;
		this.recorder = recorder;
		this.chunks = chunks;
		this.held = held;
	}

	/** Makes the commands known to Minestom. */
	void register(CommandManager manager) {
		manager.register(command("tickdisk_ping", (player, given) -> player.sendMessage("pong " + given.get(NUMBER)), NUMBER));
		manager.register(command("tickdisk_teleport",
				(player, given) -> held.back(player, () -> teleport(player, given)), X, Y, Z));
		manager.register(command("tickdisk_marker", this::marker, NUMBER));
		manager.register(command("tickdisk_look", this::look, X, Y, Z));
		manager.register(command("tickdisk_attack", (player, given) -> fights.attack(player, given.get(NUMBER)), NUMBER));
		manager.register(command("tickdisk_npc", (player, given) -> fights.put(player, given.get(NUMBER)), NUMBER));
		manager.register(command("tickdisk_kill", (player, given) -> fights.kill(player, given.get(NUMBER)), NUMBER));
		manager.register(command("tickdisk_burn", this::burn, NUMBER));
	}

	private static Command command(String name, Action action, Argument<?>... arguments) {
		Command command = new Command(name);
		command.addSyntax((sender, given) -> action.run((Player) sender, given), arguments);
		return command;
	}

	/**
	 * Moves the player above a place. If the chunk there must be loaded first, the player moves in its next tick. Minestom would move it in
	 * the thread that loaded the chunk, while a tick may handle the player's own movement.
	 */
	private void teleport(Player player, CommandContext given) {
		Pos target = new Places.Place(given.get(X), given.get(Y), given.get(Z)).feet();
		chunks.expect(player, target);
		CompletableFuture<?> loaded = player.getInstance().loadOptionalChunk(target);
		if (loaded.isDone()) move(player, target);
		else loaded.thenRun(() -> player.scheduleNextTick(_ -> move(player, target)));
	}

	private void move(Player player, Pos target) {
		player.teleport(target.withView(player.getPosition()));
		chunks.arrived(player);
	}

	/** Reads a file that nothing has read before, so the read reaches the device between the two recorded times. */
	private void marker(Player player, CommandContext given) {
		int number = given.get(NUMBER);
		long beforeNS = System.nanoTime();
		try {
			byte[] content = Files.readAllBytes(markers.resolve(String.valueOf(number)));
			recorder.marker("read" + number, beforeNS, System.nanoTime());
			player.sendMessage("marker " + number + " " + content.length);
		} catch (IOException _) {
			player.sendMessage("refused: there is no marker " + number);
		}
	}

	/**
	 * Says which block is at a position, as soon as its chunk is loaded. Terrain that is not stored, or that cannot be read, is empty in the
	 * world, and is therefore told apart from air.
	 */
	private void look(Player player, CommandContext given) {
		int x = given.get(X), y = given.get(Y), z = given.get(Z);
		String at = x + " " + y + " " + z;
		if (player.getInstance().getCachedDimensionType().minY() > y || player.getInstance().getCachedDimensionType().maxY() <= y) {
			player.sendMessage("refused: " + at + " is above or below the world");
			return;
		}
		chunks.look(new Vec(x, y, z)).whenComplete((block, reason) -> {
			if (reason != null) player.sendMessage("refused: the terrain at " + at + " cannot be loaded: " + reason);
			else if (block == null) player.sendMessage("refused: the terrain at " + at + " is not stored, or it cannot be read");
			else player.sendMessage("look " + at + " " + kind(block) + " " + block.name());
		});
	}

	private static String kind(Block block) {
		if (block.compare(Life.STONE)) return "placed";
		return block.isAir() ? "air" : "other";
	}

	/** Keeps the thread busy, as a plugin with a slow computation would. */
	private void burn(Player player, CommandContext given) {
		int durationMS = given.get(NUMBER);
		long beforeNS = System.nanoTime(), durationNS = durationMS * 1_000_000L;
		while (System.nanoTime() - beforeNS < durationNS) Thread.onSpinWait();
		recorder.marker("burn", beforeNS, System.nanoTime());
		player.sendMessage("burnt " + durationMS);
	}
}
