"""Empties the page cache of the files of a folder, so that they are read from the disk."""

import os
from pathlib import Path


def forget(folder: Path) -> None:
    """Writes the files of a folder to the disk and drops them from memory, so that they are read from the disk next time.

    Pages that a program has mapped stay.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
