"""Writes a whole block device, so that a real disk and an emulated one have the same history."""

import mmap
import os
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

_PIECE, _PAGE = 1 << 20, 4096


def fill(block_device: Path, size_bytes: int) -> None:
    """Writes random bytes, which nothing compresses or deduplicates, to every place of a block device, and flushes them.

    The page cache keeps none of them. Raises TickdiskError if the disk below does not take them.
    """
    _write(block_device, size_bytes, only_zeroes=False)


def write_zeroes(block_device: Path, size_bytes: int) -> None:
    """Writes the zeroes of a filled block device again, because mkfs may only have told the device where they are.

    The file of a loop device then has no data there, and a later write would make the folder's file system note that it has
    some. Raises TickdiskError as `fill` does.
    """
    _write(block_device, size_bytes, only_zeroes=True)


def _write(block_device: Path, size_bytes: int, *, only_zeroes: bool) -> None:
    try:
        descriptor = os.open(block_device, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
        try:
            with mmap.mmap(-1, _PIECE) as buffer, memoryview(buffer) as whole:  # Direct I/O needs memory that is aligned.
                for at in range(0, size_bytes, _PIECE):
                    with whole[: size_bytes - at] as piece:
                        if only_zeroes:
                            os.preadv(descriptor, [piece], at)
                        else:
                            piece[:] = os.urandom(len(piece))
                        if not only_zeroes or bytes(_PAGE) in bytes(piece):
                            os.pwritev(descriptor, [piece], at)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise TickdiskError(f"cannot write all of {block_device}: {error.strerror}; free space on the disk below it") from error
