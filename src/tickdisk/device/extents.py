"""Where the bytes of files lie on their block device (FIEMAP), so that the device's requests can be told apart by file."""

import fcntl
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import pandas as pd

_FS_IOC_FIEMAP = 0xC020660B
_REQUEST = struct.Struct("=2Q4I")
_EXTENT = struct.Struct("=3Q2Q4I")
_AT_ONCE = 16
_LAST, _UNKNOWN, _UNWRITTEN = 0x1, 0x2, 0x800
_SYNC = 0x1
_END = (1 << 64) - 1
Extent = tuple[str, int, int, int]


def extents_of(path: Path) -> Iterator[Extent]:
    """Yields (absolute path, offset, physical, length) in bytes for each extent of a file that has its place on the device.

    What is not yet written has none. OSError when the file is gone or its file system cannot tell.
    """
    for offset, physical, length, _ in _extents(path, 0):
        yield str(path), offset, physical, length


def written_bytes(path: Path) -> int:
    """Returns how many bytes of a file are read from its disk: no hole, nor room that is kept for it and was never written.

    OSError when the file is gone or its file system cannot tell.
    """
    return sum(length for _, _, length, flags in _extents(path, _SYNC) if not flags & _UNWRITTEN)


def _extents(path: Path, how: int) -> Iterator[tuple[int, int, int, int]]:
    """Offset, physical, length and flags."""
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
    """Looks every `period_s` where the files below a folder lie, because journals come and go; `table()` gives all that it saw.

    FIEMAP without its sync flag reads what the kernel has in memory: it asks nothing of the device.
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

    def table(self) -> pd.DataFrame:
        """Returns file, offset, physical, length of every extent that was seen."""
        return pd.DataFrame(list(self._seen), columns=["file", "offset", "physical", "length"])

    def _watch(self) -> None:
        while not self._stop.wait(self._period_s):
            self._look()

    def _look(self) -> None:
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with suppress(FileNotFoundError):  # it was there a moment ago
                    self._seen.update(dict.fromkeys(extents_of(Path(folder) / name)))
