"""Power loss, from the kernel's side: what a cut took, and how a file system is kept from writing what the machine forgot."""

import fcntl
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN and FS_IOC_SHUTDOWN, _IOR('X', 125, __u32); XFS_IOC_GOINGDOWN has the same number."""
_NO_LOG_FLUSH = 2


@dataclass(frozen=True)
class Cut:
    """What a power cut did."""

    pages_dropped: int
    """Versions of 4 KiB pages that were written after the last flush, and are gone."""
    pages_kept: int
    """Versions that survived; older ones of the same page are in neither number."""
    requests_failed: int
    """Requests that waited in the device, which were answered with an error; they are not in its log."""
    cut_ns: int
    """When it was, CLOCK_MONOTONIC: what a program was promised before is kept. What it is told afterwards, while the kernel
    finds out, is worth nothing: a machine without power says nothing."""
    number: int
    """The setting from then on, in the device's log: the same device, at rest. Its file system recovers at its speed."""
    users: tuple[int, ...]
    """Processes that had files on the device open, which give only errors now."""


def force_down(mount_point: Path) -> None:
    """Ends a file system at once, without another write; one that knows no such order gets errors from its device instead."""
    with suppress(OSError):
        descriptor = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("=I", _NO_LOG_FLUSH))
        finally:
            os.close(descriptor)
