package tickdisk;

import java.util.List;

/** Main generates worlds for Minestom, a server of Minecraft's Java edition, and serves them. */
public final class Main {
	private static final String USAGE = "usage: tickdisk-minestom generate|serve FLAGS, where each flag is written as --name VALUE";
	private static final int FAILURE = 1;
	private static final int NOT_STARTED = 2; // The command line, the world or the port is wrong, and nothing was served.

	private Main() {}

	public static void main(String[] arguments) {
		int code = run(List.of(arguments));
		// A server goes on in threads of its own until the process is told to end. After a failure nothing is left to close in order.
		if (code != 0) Runtime.getRuntime().halt(code);
	}

	private static int run(List<String> arguments) {
		try {
			String command = arguments.isEmpty() ? "" : arguments.getFirst();
			switch (command) {
				case "generate" -> generate(new Flags(arguments, List.of("world", "seed", "edge-chunks", "output"), List.of()));
				case "serve" -> serve(new Flags(arguments,
						List.of("address", "world", "places", "record", "save-period-s", "radius-chunks"), List.of("log", "compression-threshold", "saves")));
				default -> throw new NotStarted(USAGE);
			}
			return 0;
		} catch (NotStarted reason) {
			System.err.println(reason.getMessage());
			return NOT_STARTED;
		} catch (Exception reason) {
			System.err.println(String.valueOf(reason).replace('\n', ' '));
			return FAILURE;
		}
	}

	private static void generate(Flags flags) throws Exception {
		Log.open(null);
		Generator.run(flags.path("world"), flags.whole("seed"), (int) flags.whole("edge-chunks"), flags.path("output"));
	}

	private static void serve(Flags flags) throws Exception {
		int radius = (int) flags.whole("radius-chunks");
		double periodS = flags.number("save-period-s");
		if (radius < 1 || periodS <= 0)
			throw new NotStarted("--radius-chunks is " + radius + " and --save-period-s is " + periodS + ", but both must be above 0");
		// Minestom reads these settings when its classes are loaded. It sends one chunk more to each side than its view distance says.
		System.setProperty("minestom.chunk-view-distance", String.valueOf(radius - 1));
		System.setProperty("minestom.entity-view-distance", String.valueOf(radius));
		// Otherwise the thread that writes to a player sleeps 25 ms whenever it has nothing to write, which adds to every latency.
		System.setProperty("minestom.new-socket-write-lock", "true");
		// Otherwise a player that returns to one of its last five chunks is not sent what lies around it.
		System.setProperty("minestom.player.chunk-update-limiter-history-size", "0");
		// The program itself ends Minestom, because the last save must follow.
		System.setProperty("minestom.shutdown-on-signal", "false");
		Log.open(flags.has("log") ? flags.path("log") : null);
		int threshold = flags.has("compression-threshold") ? (int) flags.whole("compression-threshold") : 0;
		Saves saves = flags.has("saves") ? flags.choice("saves", Saves.class) : Saves.THREADS;
		new Life(flags.path("world"), Places.read(flags.path("places")), radius, saves).serve(
				flags.address("address"), flags.path("record"), (long) (periodS * 1e9), threshold);
	}
}
