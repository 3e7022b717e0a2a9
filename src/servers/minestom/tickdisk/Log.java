package tickdisk;

import java.nio.file.Path;

/** Log sets up the log of Minestom and of this program. */
final class Log {
	private Log() {}

	/** Opens a file for the log, or takes the standard error output if it is null. No logger may be in use before. */
	static void open(Path path) {
		setting("showDateTime", "true");
		setting("dateTimeFormat", "yyyy-MM-dd'T'HH:mm:ss.SSS");
		if (path == null) setting("defaultLogLevel", "warn");
		else setting("logFile", path.toString());
	}

	private static void setting(String name, String value) {
		System.setProperty("org.slf4j.simpleLogger." + name, value);
	}
}
