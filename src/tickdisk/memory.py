"""Folders in memory, for what must never touch a disk; one that a killed process left is removed by the next."""

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
    """Yields a new folder on tmpfs and removes it at the end.

    Its owner holds a lock in it, which the kernel releases when the owner dies, in whatever process namespace that was: folders
    whose lock is free are left over, and are removed first.
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

    Another process may take the folder for one that was left, between the making of the lock's file and the lock. It has removed
    the folder then when we get the lock, and there is another one.
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
