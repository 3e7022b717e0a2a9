package tickdisk;

/** NotStarted says in one sentence why nothing was generated or served. */
final class NotStarted extends Exception {
	private static final long serialVersionUID = 1;

	NotStarted(String sentence) {
		super(sentence);
	}
}
