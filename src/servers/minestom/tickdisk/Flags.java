package tickdisk;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Flags has the flags of a command line, which are written as `--name VALUE` or `--name=VALUE`. */
final class Flags {
	private final Map<String, String> values = new HashMap<>();

	/** Reads the words behind the command, which is the first word. */
	Flags(List<String> words, List<String> required, List<String> optional) throws NotStarted {
		List<String> rest = new ArrayList<>(words.subList(1, words.size()));
		while (!rest.isEmpty()) {
			String word = rest.removeFirst();
			String[] parts = word.split("=", 2);
			String name = parts[0].startsWith("--") ? parts[0].substring(2) : "";
			if (!required.contains(name) && !optional.contains(name))
				throw new NotStarted(word + " is not a flag of `" + words.getFirst() + "`");
			if (parts.length < 2 && rest.isEmpty()) throw new NotStarted("--" + name + " has no value");
			values.put(name, parts.length == 2 ? parts[1] : rest.removeFirst());
		}
		for (String name : required)
			if (!has(name)) throw new NotStarted("--" + name + " is missing");
	}

	boolean has(String name) {
		return values.containsKey(name);
	}

	Path path(String name) {
		return Path.of(values.get(name));
	}

	long whole(String name) throws NotStarted {
		try {
			return Long.parseLong(values.get(name));
		} catch (NumberFormatException _) {
			throw new NotStarted("--" + name + " must be a whole number, but is " + values.get(name));
		}
	}

	double number(String name) throws NotStarted {
		try {
			return Double.parseDouble(values.get(name));
		} catch (NumberFormatException _) {
			throw new NotStarted("--" + name + " must be a number, but is " + values.get(name));
		}
	}

	/** Returns the value of an enumeration whose name is that of the flag's value in upper case. */
	<E extends Enum<E>> E choice(String name, Class<E> choices) throws NotStarted {
		for (E choice : choices.getEnumConstants())
			if (choice.name().equalsIgnoreCase(values.get(name))) return choice;
		throw new NotStarted("--" + name + " must be one of " + Arrays.toString(choices.getEnumConstants()).toLowerCase(Locale.ROOT)
				+ ", but is " + values.get(name));
	}

	InetSocketAddress address(String name) throws NotStarted {
		String text = values.get(name);
		int colon = text.lastIndexOf(':');
		try {
			return new InetSocketAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
		} catch (RuntimeException _) {
			throw new NotStarted("--" + name + " must be an address such as 127.0.0.1:25565, but is " + text);
		}
	}
}
