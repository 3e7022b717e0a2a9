"""Makes temporary folders that do not outlive their process for long, even if it is killed."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "tickdisk-"
_LOCK = ".lock"


@contextmanager
def folder(parent: Path | None = None) -> Iterator[Path]:
    """Yields a new folder in `parent`, or in the system's folder for temporary files, and removes it at the end of the block.

    The process that owns the folder holds a lock on the file `.lock` in it. The kernel releases the lock when the process dies,
    whichever pid namespace it is in. Folders of the same user with a free lock were therefore left by dead processes, and they
    are removed first.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    for left in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        _remove_if_left(left)
    path, descriptor = _new(parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _new(parent: Path) -> tuple[Path, int]:
    """Returns a new folder and the descriptor that holds its lock.

    Between the creation of the lock's file and the lock, another process may take the folder for one that was left behind. The
    folder is then gone by the time that this process gets the lock, and another folder is made.
    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        descriptor = os.open(path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if (path / _LOCK).exists():
            return path, descriptor
        os.close(descriptor)


def _remove_if_left(lock: Path) -> None:
    try:
        if lock.parent.lstat().st_uid != os.getuid():
            return
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
