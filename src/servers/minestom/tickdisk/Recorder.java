package tickdisk;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Recorder writes what the server did and when: one line of text for each event, whose first field is the event's kind. Times are in
 * nanoseconds of CLOCK_MONOTONIC, which is what System.nanoTime returns on Linux.
 *
 * <pre>
 * tickdisk_probe,2,monotonic,ns               The format's version, and the clock and unit of all times.
 * t,NUMBER,START,END,PLAYERS,ELAPSED,THREAD   A tick. ELAPSED stays empty, because Minestom counts each tick as one step.
 * g,AT,COUNT                                  COUNT chunks have been generated so far.
 * m,NAME,BEFORE,AFTER                         A marker: the action NAME was done between the two times.
 * s,BEGIN,END                                 A periodic save, from the call until all its chunks are written.
 * p,NAME,BEGIN,END                            The virtual machine stopped all threads at a safepoint.
 * e,TICKS,AT,COUNT                            The server shut down in order, after TICKS ticks and COUNT generated chunks.
 * </pre>
 *
 * Its methods may be called from any thread.
 */
final class Recorder {
	private static final long FLUSH_PERIOD_MS = 400; // A reader may rely on lines that are half a second old.

	private final OutputStream file;
	private final Thread flusher = Thread.ofPlatform().name("record").daemon().unstarted(this::flushPeriodically);
	private StringBuilder pending = new StringBuilder("tickdisk_probe,2,monotonic,ns\n");
	private long ticks;
	private long chunks;
	private boolean isClosed;
	private IOException failure;

	/** Opens a new record, and starts to flush it in the background. */
	Recorder(Path path) throws NotStarted {
		try {
			file = Files.newOutputStream(path);
		} catch (IOException reason) {
			throw new NotStarted("the record cannot be written: " + reason);
		}
		flusher.start();
	}

	/** Adds the next tick. A thread of 0 is not known. */
	synchronized void tick(long startNS, long endNS, int players, long thread) {
		add("t," + (ticks + 1) + "," + startNS + "," + endNS + "," + players + ",," + (thread == 0 ? "" : thread));
		if (!isClosed) ticks++;
	}

	/** Adds a chunk that was generated because it was not stored. */
	synchronized void generated() {
		add("g," + System.nanoTime() + "," + ++chunks);
	}

	/** Adds an action that players asked for. */
	synchronized void marker(String name, long beforeNS, long afterNS) {
		add("m," + name + "," + beforeNS + "," + afterNS);
	}

	/** Adds a periodic save. */
	synchronized void save(long beginNS, long endNS) {
		add("s," + beginNS + "," + endNS);
	}

	/** Adds a time in which all threads were stopped. */
	synchronized void pause(String name, long beginNS, long endNS) {
		add("p," + name + "," + beginNS + "," + endNS);
	}

	/** Adds the end of the server and closes the record. It throws the first error of any write. */
	void close() throws IOException, InterruptedException {
		synchronized (this) {
			add("e," + ticks + "," + System.nanoTime() + "," + chunks);
			isClosed = true;
		}
		flusher.interrupt();
		flusher.join();
		if (failure != null) throw new IOException("the record could not be written", failure);
	}

	private void add(String line) {
		if (!isClosed) pending.append(line).append('\n');
	}

	private void flushPeriodically() {
		for (boolean isEnding = false; !isEnding;) {
			try {
				Thread.sleep(FLUSH_PERIOD_MS);
			} catch (InterruptedException _) {
				isEnding = true;
			}
			flush();
		}
	}

	/** Writes outside the lock, so that a tick never waits for the file. */
	private void flush() {
		StringBuilder writing;
		synchronized (this) {
			writing = pending;
			pending = new StringBuilder(writing.length() + 256);
		}
		try {
			file.write(writing.toString().getBytes(StandardCharsets.US_ASCII));
		} catch (IOException reason) {
			if (failure == null) failure = reason;
		}
	}
}
