"""Empties the page cache of the files of a folder, so that they are read from the disk."""

import ctypes
import os
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

_libc = ctypes.CDLL(None, use_errno=True)


def forget(folder: Path) -> None:
    """Writes the file system of a folder to its disk and drops the folder's files from memory, so that they are read again.

    Pages that a program has mapped stay. Raises TickdiskError if the file system cannot be written.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # One call for all files: a flush of each would take a slow disk longer than an epoch has time for.
        if _libc.syncfs(descriptor) != 0:
            raise TickdiskError(f"{folder} cannot be written to its disk: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
