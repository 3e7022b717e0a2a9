"""The region of a mounted block device that fio may read and write without damage to the file system.

It is the longest run of blocks that the file system keeps for one file, which was made for the purpose.
"""

import array
import fcntl
import mmap
import os
from pathlib import Path

from tickdisk.calibrate.fio import Target
from tickdisk.foundation.errors import TickdiskError

_FS_IOC_FIEMAP = 0xC020660B
_FIEMAP_FLAG_SYNC = 1
_UNUSABLE = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200  # location unknown, delayed, encoded, encrypted, not aligned, inline
_HEADER_BYTES, _EXTENT_BYTES, _EXTENTS = 32, 56, 64
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

    If the file has no blocks of its own, TickdiskError is raised. The request FIEMAP (Documentation/filesystems/fiemap.rst) has a
    header of start, length, flags, mapped and count, which extents of 56 bytes follow.
    """
    request = bytearray(_HEADER_BYTES + _EXTENTS * _EXTENT_BYTES)
    request[:24] = array.array("Q", [0, (1 << 64) - 1, _FIEMAP_FLAG_SYNC]).tobytes()
    request[24:28] = array.array("I", [_EXTENTS]).tobytes()
    with path.open("rb") as file:
        try:
            fcntl.ioctl(file, _FS_IOC_FIEMAP, request)
        except OSError as error:
            raise TickdiskError(
                f"{path}: the file system does not tell where its blocks are ({error.strerror}); use ext4 or xfs"
            ) from error
    mapped = int.from_bytes(request[20:24], "little")
    extents = []
    for number in range(mapped):
        at = _HEADER_BYTES + number * _EXTENT_BYTES
        _, physical, length = array.array("Q", bytes(request[at : at + 24]))
        flags = int.from_bytes(request[at + 40 : at + 44], "little")
        if not flags & _UNUSABLE:
            extents.append((length, physical))
    if not extents:
        raise TickdiskError(f"{path} has no blocks of its own on the device; make the device larger")
    length, physical = max(extents)
    return physical, length


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
