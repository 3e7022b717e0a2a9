"""Writes a whole block device, so that a real disk and an emulated one have the same history."""

import mmap
import os
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

_PIECE = 1 << 20


def fill(block_device: Path, size_bytes: int) -> None:
    """Writes random bytes, which nothing compresses or deduplicates, to every place of a block device, and flushes them.

    The page cache keeps none of them. Raises TickdiskError if the disk below does not take them.
    """
    try:
        descriptor = os.open(block_device, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)
        try:
            with mmap.mmap(-1, _PIECE) as buffer, memoryview(buffer) as piece:  # Direct I/O needs memory that is aligned.
                for at in range(0, size_bytes, _PIECE):
                    count = min(_PIECE, size_bytes - at)
                    piece[:count] = os.urandom(count)
                    if os.pwrite(descriptor, piece[:count], at) != count:
                        raise TickdiskError(f"cannot write all of {block_device}; free space on the disk below it")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise TickdiskError(f"cannot write all of {block_device}: {error.strerror}; free space on the disk below it") from error
