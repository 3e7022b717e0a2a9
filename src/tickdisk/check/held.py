"""Looks for other processes that lock the files of a server, such as a backup that holds the lock of a database."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOCKS = Path("/proc/locks")
_EXCLUSIVE = "WRITE"
_REFRESH_S = 2.0
_GAP_NS = 300_000_000
"""Two sightings of a lock that are not further apart are one time in which it was held."""


@dataclass
class Held:
    """A time in which another process held an exclusive lock on a file that the server has open."""

    file: str
    pid: int
    program: str
    begin_ns: int
    """First and last sighting, in ns of CLOCK_MONOTONIC."""
    end_ns: int


class LockWatch:
    """Collects the locks that other processes hold on the files of a process. Each call of `look` looks once."""

    def __init__(self, pid: int, locks: Path = _LOCKS) -> None:
        self.held: list[Held] = []
        self._pid, self._locks = pid, locks
        self._files: dict[str, str] = {}
        self._listed_s = -_REFRESH_S

    def look(self) -> None:
        """Reads the kernel's list of locks. A lock that was seen a moment ago is held on."""
        now_ns = time.monotonic_ns()
        if now_ns / 1e9 - self._listed_s >= _REFRESH_S:
            self._files, self._listed_s = _open_files(self._pid), now_ns / 1e9
        with suppress(OSError):
            for line in self._locks.read_text().splitlines():
                self._add(line.split(), now_ns)

    def _add(self, words: list[str], now_ns: int) -> None:
        """Takes down one line of /proc/locks, see proc(5). A line with an arrow is a process that waits for the lock."""
        if "->" in words or words[3] != _EXCLUSIVE or words[5] not in self._files:
            return
        holder, file = int(words[4]), self._files[words[5]]
        if holder in (self._pid, -1):
            return
        for held in self.held:
            if (held.pid, held.file) == (holder, file) and now_ns - held.end_ns <= _GAP_NS:
                held.end_ns = now_ns
                return
        self.held.append(Held(file, holder, _program(holder), now_ns, now_ns))


def _open_files(pid: int) -> dict[str, str]:
    """Returns the paths of the files that a process has open, by device and inode as /proc/locks writes them."""
    files = {}
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                target = str(link.readlink())
                if target.startswith("/") and not target.startswith(("/dev/", "/memfd:")):
                    seen = link.stat()
                    files[f"{os.major(seen.st_dev):02x}:{os.minor(seen.st_dev):02x}:{seen.st_ino}"] = target
    return files


def _program(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return "a process that has ended"
