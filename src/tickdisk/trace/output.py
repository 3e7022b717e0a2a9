"""The output of a capture tool, which it writes to a file in memory. Parts of it can be moved to a disk meanwhile."""

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Ending:
    """The end of a tool, which is needed to read its output. It is part of the last line of a raw capture."""

    ended_ns: int
    """The time up to which the output is whole."""
    version: str
    """The version of the tool, e.g. 6.1."""


class Output:
    """The output of a tool. Its file has holes where parts have been moved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """The file into which the tool writes."""
        self._moved: Path | None = None
        self._moved_bytes = 0

    @property
    def size_bytes(self) -> int:
        """The number of bytes that the tool has written and that have not been moved."""
        return (self.path.stat().st_size if self.path.exists() else 0) - self._moved_bytes

    def spill(self, folder: Path) -> None:
        """Moves what the tool has written so far to the end of a file in `folder`, and so frees its place."""
        self._moved = folder / self.path.name
        with self.path.open("r+b") as source, self._moved.open("r+b" if self._moved_bytes else "wb") as target:
            end, at = os.fstat(source.fileno()).st_size, self._moved_bytes
            target.seek(at)
            while at < end:
                at += os.sendfile(target.fileno(), source.fileno(), at, end - at)
            # From the beginning, because the last hole may have ended within a page, which is freed only now.
            hole = _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_long(0), ctypes.c_long(end)
            if end and _libc.fallocate(source.fileno(), *hole) != 0:
                reason = os.strerror(ctypes.get_errno())
                raise TickdiskError(f"the place of {self.path} cannot be freed ({reason}); leave --spill out")
        self._moved_bytes = end

    def whole(self) -> Path:
        """Returns the file that has everything which the tool has written. Nobody may write to its own file any more."""
        if self._moved is None:
            return self.path
        self.spill(self._moved.parent)
        return self._moved
