"""Makes temporary folders in memory (tmpfs) for files that must never reach a disk, and says how much room there is."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tickdisk.foundation import temporary
from tickdisk.foundation.guard import guarded

MEMORY = Path("/dev/shm")  # noqa: S108 - tmpfs is the point
LEAST_BYTES = 128 << 20
"""A capture of a busy program fills as much within a minute. A container has 64 MiB, unless it is given more."""
SHM_SIZE = "--shm-size=1g"
"""Argument of `podman run` that gives enough of it."""
MORE_MEMORY = f"`mount -o remount,size=1G /dev/shm`, or `podman run {SHM_SIZE}`, gives more"


@contextmanager
def folder() -> Iterator[Path]:
    """Yields a new folder in memory (tmpfs), which is removed with its files at the end of the block.

    It is for logs and other files whose writing must not load a disk while something is measured.
    """
    with temporary.folder(MEMORY) as path:
        yield path


@contextmanager
def guarded_folder() -> Iterator[Path]:
    """Yields a new folder in memory as `folder` does, which a small process removes if this one is killed."""
    with folder() as path, guarded('rm -rf -- "$1"', path):
        yield path


def free_bytes(folder: Path = MEMORY) -> int:
    """Returns the number of bytes that can still be written in a folder, which is 0 if there is no such folder."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
