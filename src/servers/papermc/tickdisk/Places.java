package tickdisk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bukkit.Location;
import org.bukkit.World;

/** Places has the places of players by their number. */
final class Places {
	private static final Pattern PLAYER = Pattern.compile("p(\\d{1,9})");
	private static final int HOVER_BLOCKS = 2; // A player hovers so high that a block fits below it.

	private final List<Place> all = new ArrayList<>();

	/** Place is the position of the free block above the ground, in which a player can put a block. */
	record Place(int x, int y, int z) {
		/** Returns where the feet of a player are that hovers above the place. */
		Location feet(World world) {
			return new Location(world, x + 0.5, y + HOVER_BLOCKS, z + 0.5);
		}
	}

	/** Reads a file with a place `x y z` on each line. */
	static Places read(Path path) throws NotStarted {
		Places places = new Places();
		try {
			for (String line : Files.readAllLines(path)) {
				String[] numbers = line.split(" ");
				places.all.add(new Place(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]), Integer.parseInt(numbers[2])));
			}
		} catch (IOException | NumberFormatException | ArrayIndexOutOfBoundsException reason) {
			throw new NotStarted("the places cannot be read: " + reason);
		}
		return places;
	}

	/** Returns the place of a player, which is number N for the player pN. The exception says why there is none. */
	Place of(String player) throws NotStarted {
		Matcher fields = PLAYER.matcher(player);
		if (!fields.matches()) throw new NotStarted("players are named p000, p001 and so on, but this one is named " + player);
		int number = Integer.parseInt(fields.group(1));
		if (number >= all.size()) throw new NotStarted("there is no place for player " + player);
		return all.get(number);
	}
}
