"""The choice of the part of a disk that is measured: a new test file in a folder, an existing file, or a block device."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tickdisk.calibrate import Target
from tickdisk.device import memory_file_system, written_bytes
from tickdisk.foundation.errors import TickdiskError
from tickdisk.profile.empty import claimed

_PIECE = 1 << 20
_LEAST_BYTES = 16 << 20
_SPARE_BYTES = 256 << 20
"""Space that stays free beside the test file, because a full file system hurts everybody else who uses it."""
_BLOCK = 512
_WRITTEN = 0.95


@dataclass(frozen=True)
class TestedDisk:
    """The part of a disk that is measured, which `source` prepared."""

    kind: Literal["folder", "file", "block device"]
    target: Target
    """Part that fio may use, in a test file, the file or the block device."""


@contextmanager
def source(path: Path, *, write: bool, size_bytes: int) -> Iterator[TestedDisk]:
    """Prepares the part of a disk that is to be measured, until the end of the `with` block.

    The contents of a file are never overwritten. A block device is overwritten only if nothing is recognised on it and nobody
    uses it. A folder gets a test file of `size_bytes`, which is gone afterwards in any case. Raises TickdiskError if the path
    cannot be measured. The message says why.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise TickdiskError(f"{path}: {error.strerror}; give a folder, a file or a block device") from error
    if not stat.S_ISBLK(mode) and (memory := memory_file_system(path)):
        raise TickdiskError(f"{path} is in memory ({memory}); give a folder on a disk")
    if stat.S_ISDIR(mode):
        with _test_file(path, size_bytes) as file:
            yield TestedDisk("folder", Target(file, 0, size_bytes // _PIECE * _PIECE))
    elif stat.S_ISREG(mode):
        yield TestedDisk("file", _existing_file(path, write=write))
    elif stat.S_ISBLK(mode):
        with claimed(path, write=write):
            yield TestedDisk("block device", Target(path.resolve(), 0, _checked_size(path)))
    else:
        raise TickdiskError(f"{path} is neither a folder nor a file nor a block device; give one of these")


@contextmanager
def _test_file(folder: Path, size_bytes: int) -> Iterator[Path]:
    """Yields a file of random bytes. It has no name, so the kernel removes it when this process ends, in whatever way."""
    if size_bytes < _LEAST_BYTES:
        raise TickdiskError(f"a test file of {size_bytes} bytes is too small to measure; give --size 16M or more")
    room = os.statvfs(folder)
    free_bytes = room.f_bavail * room.f_frsize
    if free_bytes < size_bytes + _SPARE_BYTES:
        raise TickdiskError(
            f"{folder} has {free_bytes >> 20} MiB free, but a test file of {size_bytes >> 20} MiB and {_SPARE_BYTES >> 20} MiB "
            "to spare do not fit; give a smaller --size or free space"
        )
    name = folder / f".tickdisk-profile-{os.getpid()}"
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        name.unlink()
    except OSError as error:
        raise TickdiskError(
            f"cannot make a test file in {folder}: {error.strerror}; give a folder that can be written"
        ) from error
    try:
        path = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
        _fill(descriptor, size_bytes, folder)
        _check_direct(path)
        yield path
    finally:
        os.close(descriptor)


def _fill(descriptor: int, size_bytes: int, folder: Path) -> None:
    """Fills the test file with random bytes, which nothing compresses or deduplicates, and flushes them to the disk."""
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.writelines(os.urandom(_PIECE) for _ in range(size_bytes // _PIECE))
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        raise TickdiskError(
            f"cannot write {size_bytes >> 20} MiB in {folder}: {error.strerror}; give a smaller --size"
        ) from error


def _existing_file(path: Path, *, write: bool) -> Target:
    if write:
        raise TickdiskError(
            f"{path} is a file with contents, which --write would overwrite; give its folder, or leave out --write"
        )
    size_bytes = _checked_size(path)
    try:
        written = written_bytes(path)
    except OSError:  # the file system does not say which parts are written
        written = path.stat().st_blocks * _BLOCK
    if written < size_bytes * _WRITTEN:
        raise TickdiskError(
            f"{path} has holes, or room that was never written, which are read without the disk; give its folder, or a file that "
            "is wholly written"
        )
    return Target(path.resolve(), 0, size_bytes)


def _checked_size(path: Path) -> int:
    """Returns the size in bytes of a file or a block device in whole MiB. It must be large enough and allow direct I/O."""
    _check_direct(path)
    with path.open("rb") as file:
        size_bytes = file.seek(0, os.SEEK_END) // _PIECE * _PIECE
    if size_bytes < _LEAST_BYTES:
        raise TickdiskError(f"{path} has less than {_LEAST_BYTES >> 20} MiB; give something larger")
    return size_bytes


def _check_direct(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC))
    except OSError as error:
        raise TickdiskError(
            f"{path} cannot be read past the page cache ({error.strerror}); give a disk, and run as root"
        ) from error
