"""`TickdiskError`, the exception for failures that a user can repair, and `exit_with_message`, which the Snakefile uses."""

from collections.abc import Iterator
from contextlib import contextmanager


class TickdiskError(Exception):
    """A failure that its reader can act on.

    The message is one sentence that says what is wrong, where it is (the file, line or key), and what to do.
    """


@contextmanager
def exit_with_message() -> Iterator[None]:
    """Ends the process if a `TickdiskError` is raised in the block, and prints only the message of the error.

    The Snakefile uses this function, because snakemake prints a traceback with every exception.
    """
    try:
        yield
    except TickdiskError as error:
        raise SystemExit(f"tickdisk: {error}") from None
