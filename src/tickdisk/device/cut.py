"""The results of a power cut and of its image, and the end of a file system at a cut.

The file system writes no data from the page cache afterwards.
"""

import fcntl
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

_SHUTDOWN = 0x8004587D
"""Number of EXT4_IOC_SHUTDOWN and FS_IOC_SHUTDOWN, _IOR('X', 125, __u32). XFS_IOC_GOINGDOWN has the same number."""
_NO_LOG_FLUSH = 2


@dataclass(frozen=True)
class Cut:
    """The effects of a power cut of a volatile device, as `MountedDevice.cut` returns them."""

    pages_dropped: int
    """Number of versions of 4 KiB pages that were written after the last flush and are lost."""
    pages_kept: int
    """Number of versions of 4 KiB pages that survived. Older versions of a page that survived are counted in neither number."""
    requests_failed: int
    """Number of requests that waited in the device and were answered with an error. They are not in the device's log."""
    cut_ns: int
    """The time of the cut, in ns of CLOCK_MONOTONIC. Data that a program was promised before this time are kept. A promise after
    this time counts for nothing, because the kernel has not noticed the cut yet, and a machine without power promises nothing."""
    number: int
    """The number in the device's log of the setting that holds after the cut. It is the same device at rest, and the file system
    recovers at its speed."""
    users: tuple[int, ...]
    """The pids of the processes that had files on the device open. These files give only errors now."""


@dataclass(frozen=True)
class CutImage:
    """The image of a power cut, as `MountedDevice.image_of_cut` returns it."""

    path: Path
    """The file that has the content of the disk after the cut. Pages of zeroes are holes in it."""
    cut_ns: int
    """The time of the cut, in ns of CLOCK_MONOTONIC. Data that a program was promised before this time are in the image."""
    pages_dropped: int
    """Number of versions of 4 KiB pages that were written after the last flush and are not in the image."""
    pages_kept: int
    """Number of versions of 4 KiB pages that survived. Older versions of a page that survived are counted in neither number."""
    held_ns: int
    """Time for which writes and flushes of the device waited at the time of the cut, in ns."""


class NotRecoveredError(TickdiskError):
    """The file system of an image could not be mounted, so a power cut has destroyed it. The device works."""


def force_down(mount_point: Path) -> None:
    """Ends the file system at `mount_point` at once, without another write, as a loss of power would.

    Programs that have files open get errors from then on. A file system that does not support this order stays, and gets errors
    from its device instead.
    """
    with suppress(OSError):
        descriptor = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("=I", _NO_LOG_FLUSH))
        finally:
            os.close(descriptor)
