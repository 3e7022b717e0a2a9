package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.minestom.server.coordinate.Pos;

/** Places has the places of players by their number. */
final class Places {
	private static final Pattern PLAYER = Pattern.compile("p(\\d{1,9})");
	private static final Pattern LINE = Pattern.compile("(-?\\d{1,8}) (-?\\d{1,8}) (-?\\d{1,8})");
	private static final int HOVER_BLOCKS = 2; // A player hovers so high that a block fits below it.

	private final List<Place> all;

	/** Place is the position of the free block above the ground, in which a player can put a block. */
	record Place(int x, int y, int z) {
		/** Returns where the feet of a player are that hovers above the place. */
		Pos feet() {
			return new Pos(x + 0.5, y + HOVER_BLOCKS, z + 0.5);
		}
	}

	private Places(List<Place> all) {
		this.all = all;
	}

	/** Reads a file with a place `x y z` on each line. */
	static Places read(Path path) throws NotStarted {
		List<Place> all = new ArrayList<>();
		try {
			for (String line : Files.readAllLines(path)) {
				Matcher fields = LINE.matcher(line);
				if (!fields.matches())
					throw new NotStarted(
							"line " + (all.size() + 1) + " of " + path + " is not a place, which is three whole numbers: " + line);
				all.add(new Place(Integer.parseInt(fields.group(1)), Integer.parseInt(fields.group(2)), Integer.parseInt(fields.group(3))));
			}
		} catch (IOException reason) {
			throw new NotStarted("the places cannot be read: " + reason);
		}
		if (all.isEmpty()) throw new NotStarted(path + " holds no places, and without a place no player can join");
		return new Places(all);
	}

	/** Returns the place of a player, which is number N for the player pN. The exception says why there is none. */
	Place of(String player) throws NotStarted {
		Matcher fields = PLAYER.matcher(player);
		if (!fields.matches()) throw new NotStarted("players are named p000, p001 and so on, but this one is named " + player);
		int number = Integer.parseInt(fields.group(1));
		if (number >= all.size())
			throw new NotStarted("there is no place for player " + player + ", because the number of places is only " + all.size());
		return all.get(number);
	}
}
