"""The one exception that a user is meant to read."""

from collections.abc import Iterator
from contextlib import contextmanager


class TickdiskError(Exception):
    """A failure that its reader can act on: one sentence with what is wrong, where (file, line, key) and what to do."""


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Ends the process with the sentence of a `TickdiskError` that is raised inside, and with nothing else.

    The Snakefile uses it, because snakemake prints a traceback with every exception.
    """
    try:
        yield
    except TickdiskError as error:
        raise SystemExit(f"tickdisk: {error}") from None
