"""The places of files on their block device (FIEMAP), by which each request of the device can be assigned to a file."""

import fcntl
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import pandas as pd

_FS_IOC_FIEMAP = 0xC020660B
_REQUEST = struct.Struct("=2Q4I")
_EXTENT = struct.Struct("=3Q2Q4I")
_AT_ONCE = 16
_LAST, _UNKNOWN, _UNWRITTEN = 0x1, 0x2, 0x800
_NOT_IN_PLACE = 0x4 | 0x8 | 0x80 | 0x100 | 0x200
"""Flags of extents whose bytes cannot be written at their place: delayed, encoded, encrypted, not aligned, inline."""
_SYNC = 0x1
_END = (1 << 64) - 1
Extent = tuple[str, int, int, int]


def extents_of(path: Path) -> Iterator[Extent]:
    """Yields the extents of a file, which are the runs of its bytes that lie together on the block device.

    An extent is the path as given, the offset in the file, the offset on the block device, and the length, the last three in
    bytes. Data that are not yet written have no place, and are left out. If the file is gone, or its file system does not tell
    extents, OSError is raised.
    """
    for offset, physical, length, _ in _extents(path, 0):
        yield str(path), offset, physical, length


def written_bytes(path: Path) -> int:
    """Returns how many bytes of a file have been written, after a sync, and would therefore be read from its disk.

    Holes do not count, and neither does space that is reserved for the file and was never written. If the file is gone, or its
    file system does not tell extents, OSError is raised.
    """
    return sum(length for _, _, length, flags in _extents(path, _SYNC) if not flags & _UNWRITTEN)


def writable_extents(path: Path) -> list[tuple[int, int]]:
    """Returns the offset on the block device and the length in bytes of each extent of a file that may be written there.

    The file is synced first. If it is gone, or its file system does not tell extents, OSError is raised.
    """
    return [(physical, length) for _, physical, length, flags in _extents(path, _SYNC) if not flags & _NOT_IN_PLACE]


def _extents(path: Path, how: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields offset, physical offset, length and flags of each extent. The bits `how` are the flags of the FIEMAP request."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        at = 0
        while True:
            reply = fcntl.ioctl(
                descriptor, _FS_IOC_FIEMAP, _REQUEST.pack(at, _END - at, how, 0, _AT_ONCE, 0) + bytes(_EXTENT.size * _AT_ONCE)
            )
            count = _REQUEST.unpack_from(reply)[3]
            for number in range(count):
                offset, physical, length, _, _, flags, *_ = _EXTENT.unpack_from(reply, _REQUEST.size + number * _EXTENT.size)
                if not flags & _UNKNOWN:
                    yield offset, physical, length, flags
                if flags & _LAST:
                    return
                at = offset + length
            if count == 0:
                return
    finally:
        os.close(descriptor)


class ExtentRecorder:
    """A recorder of the extents of all files below a folder, within a `with` block, to tell later which file a request was for.

    A thread looks at the files every `period_s`, because journals come and go, and a last look follows at the end of the block.
    FIEMAP without its sync flag reads what the kernel has in memory, so that a look makes no request to the device.
    """

    def __init__(self, folder: Path, period_s: float = 1.0) -> None:
        self._folder, self._period_s = folder, period_s
        self._seen: dict[Extent, None] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="extents", daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        with suppress(OSError):
            self._look()

    def table(self) -> "pd.DataFrame":
        """Returns the extents that were seen so far, each once, in the order in which they were first seen.

        The columns are `file` (path), `offset` (in the file), `physical` (offset on the block device) and `length`, the last
        three in bytes.
        """
        import pandas as pd  # noqa: PLC0415 - commands start without it

        return pd.DataFrame(list(self._seen), columns=["file", "offset", "physical", "length"])

    def _watch(self) -> None:
        while not self._stop.wait(self._period_s):
            self._look()

    def _look(self) -> None:
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with suppress(FileNotFoundError):  # The file may have been removed since the folder was listed.
                    self._seen.update(dict.fromkeys(extents_of(Path(folder) / name)))
