"""Makes temporary folders in memory (tmpfs) for files that must never reach a disk.

`folder` makes one for the length of a `with` block. It first removes the folders that killed processes have left behind.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - tmpfs is the point
_PREFIX = "tickdisk-"
_LOCK = ".lock"


@contextmanager
def folder() -> Iterator[Path]:
    """Makes a folder in memory (tmpfs) for the time of a `with` block, and removes it with its files at the end.

    It is for logs and other files whose writing must not load a disk while something is measured.

    The process that owns the folder holds a lock on a file in it. The kernel releases the lock when the process dies, whichever
    pid namespace it is in. Folders with a free lock were therefore left by dead processes, and they are removed first.

    Yields
    ------
    Path
        The new folder.
    """
    for left in MEMORY.glob(f"{_PREFIX}*/{_LOCK}"):
        _remove_if_left(left)
    path, descriptor = _new()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _new() -> tuple[Path, int]:
    """Returns a new folder and the descriptor that holds its lock.

    Between the creation of the lock's file and the lock, another process may take the folder for one that was left behind. The
    folder is then gone by the time that this process gets the lock, and another folder is made.
    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=MEMORY))
        descriptor = os.open(path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if (path / _LOCK).exists():
            return path, descriptor
        os.close(descriptor)


def _remove_if_left(lock: Path) -> None:
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.parent, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)
