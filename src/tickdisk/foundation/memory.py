"""Makes temporary folders in memory (tmpfs) for files that must never reach a disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tickdisk.foundation import temporary

MEMORY = Path("/dev/shm")  # noqa: S108 - tmpfs is the point


@contextmanager
def folder() -> Iterator[Path]:
    """Yields a new folder in memory (tmpfs), which is removed with its files at the end of the block.

    It is for logs and other files whose writing must not load a disk while something is measured.
    """
    with temporary.folder(MEMORY) as path:
        yield path
