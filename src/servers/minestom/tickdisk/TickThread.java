package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** TickThread finds the number by which the kernel knows the thread in which chunks and players tick. */
final class TickThread {
	private static final String NAME = "Ms-Tick-0";

	private TickThread() {}

	/** Returns the thread's number, or 0 if it does not run. Java has no call for it, but the kernel knows the thread by its name. */
	static long number() {
		try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
			return threads.filter(TickThread::isNamed).findFirst().map(found -> Long.parseLong(found.getFileName().toString())).orElse(0L);
		} catch (IOException _) {
			return 0;
		}
	}

	private static boolean isNamed(Path thread) {
		try {
			return Files.readString(thread.resolve("comm")).strip().equals(NAME);
		} catch (IOException _) {
			return false;
		}
	}
}
