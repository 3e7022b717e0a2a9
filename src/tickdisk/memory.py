"""Makes temporary folders in memory (tmpfs) for files that must never reach a disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tickdisk import temporary

MEMORY = Path("/dev/shm")  # noqa: S108 - tmpfs is the point


@contextmanager
def folder() -> Iterator[Path]:
    """Makes a folder in memory (tmpfs) for the time of a `with` block, and removes it with its files at the end.

    It is for logs and other files whose writing must not load a disk while something is measured. `temporary.folder` describes
    what becomes of the folders of killed processes.

    Yields
    ------
    Path
        The new folder.
    """
    with temporary.folder(MEMORY) as made:
        yield made
