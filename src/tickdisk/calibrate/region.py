"""The region of a mounted block device that fio may read and write without damage to the file system.

It is the longest run of blocks that the file system keeps for one file, which was made for the purpose.
"""

import mmap
import os
from operator import itemgetter
from pathlib import Path

from tickdisk.calibrate.fio import Target
from tickdisk.device import writable_extents
from tickdisk.foundation.errors import TickdiskError

_PIECE = 1 << 20


def write_file(path: Path, size_bytes: int) -> None:
    """Writes `size_bytes` of random bytes to `path` and flushes them, so that blocks and the device's memory are allocated."""
    noise = mmap.mmap(-1, _PIECE)
    noise.write(os.urandom(_PIECE))
    try:
        with path.open("wb", buffering=0) as file:
            for _ in range(size_bytes // _PIECE):
                file.write(noise)
            os.fsync(file.fileno())
    except OSError as error:
        raise TickdiskError(f"cannot write {size_bytes >> 20} MiB to {path}: {error.strerror}; make the device larger") from error


def largest_extent(path: Path) -> tuple[int, int]:
    """Returns offset and length in bytes of the longest run of blocks of a file on its device.

    If the file has no blocks of its own, TickdiskError is raised.
    """
    try:
        extents = writable_extents(path)
    except OSError as error:
        raise TickdiskError(
            f"{path}: the file system does not tell where its blocks are ({error.strerror}); use ext4 or xfs"
        ) from error
    if not extents:
        raise TickdiskError(f"{path} has no blocks of its own on the device; make the device larger")
    return max(extents, key=itemgetter(1, 0))


def raw_target(file: Path, block_device: Path, minimum_bytes: int) -> Target:
    """Returns the part of `block_device` that jobs of fio may overwrite: the longest run of blocks of `file`, in whole MiB.

    If this run is shorter than `minimum_bytes`, TickdiskError is raised.
    """
    offset, length = largest_extent(file)
    if length < minimum_bytes:
        raise TickdiskError(
            f"{file}: its longest run of blocks has {length} bytes, but {minimum_bytes} are needed; make the device larger"
        )
    return Target(block_device, offset, length // _PIECE * _PIECE)
