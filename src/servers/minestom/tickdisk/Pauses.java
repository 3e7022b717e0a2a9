package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Pauses reads the log of safepoints, which the virtual machine writes if the launcher was told a file for it. */
final class Pauses {
	/** Names the file, for the launcher and for this program. */
	static final String VARIABLE = "TICKDISK_PAUSES";

	/** The time in brackets is that of System.nanoTime at the end of the safepoint. */
	private static final Pattern LINE = Pattern.compile("\\[(\\d+)ns\\].* Safepoint \"(\\w+)\".* Total: +(\\d+) ns.*");

	private Pauses() {
	}

	/** Adds all safepoints of the log to the record. */
	static void record(Recorder recorder) throws IOException {
		String file = System.getenv(VARIABLE);
		if (file == null) return;
		for (String line : Files.readAllLines(Path.of(file))) {
			Matcher found = LINE.matcher(line);
			if (!found.matches()) continue;
			long endNS = Long.parseLong(found.group(1));
			recorder.pause(found.group(2), endNS - Long.parseLong(found.group(3)), endNS);
		}
	}
}
