"""A cgroup for the captured processes, by which bpftrace distinguishes them from all others in any process namespace."""

import fcntl
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.guard import guarded

_PREFIX = "tickdisk-"
_LEAVE_LIMIT_S = 5.0
"""Seconds within which members that are ending have to leave the cgroup."""
_match_snapshots = itertools.count()
_GUARD = """
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ -d "$1" ] && ! rmdir "$1" || exit 0
  while read -r process; do [ "$process" = 0 ] || echo "$process" >"$2/cgroup.procs"; done <"$1/cgroup.procs"
  sleep 0.2
done
"""
"""A program of the shell that removes a cgroup when its owner has ended, also after kill -9."""


def hierarchy() -> Path:
    """Returns the folder at which the cgroup v2 hierarchy is mounted, or raises TickdiskError if it is not mounted."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where.encode().decode("unicode_escape"))
    raise TickdiskError("no cgroup v2 hierarchy is mounted, so bpftrace cannot select processes; capture with strace")


def cgroup_of(pid: int) -> Path:
    """Returns the folder of a process's cgroup v2, or the top of the hierarchy if this process cannot see that folder."""
    top = hierarchy()
    for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        if line.startswith("0::/") and (folder := top / line[4:]).is_dir() and ".." not in folder.parts:
            return folder
    return top


class Cgroup:
    """A new cgroup v2 for processes that are to be captured. It exists while it is used as a context manager.

    It lies below the cgroup of the process with the number `below`, or of this process if that is None, so that the limits of
    that cgroup still hold. This process holds a lock on the cgroup's folder, which the kernel releases when this process dies,
    whatever its process namespace. Entering removes the cgroups of dead owners first (`remove_abandoned`). Leaving moves the
    remaining members to the parent cgroup, and a small process does the same if this one is killed.
    """

    def __init__(self, below: int | None = None) -> None:
        self._home = cgroup_of(os.getpid())
        self._parent = self._home if below is None else cgroup_of(below)
        self.path = self._parent / f"{_PREFIX}{os.getpid()}-{next(_match_snapshots)}"
        self._lock = -1
        self._guard = ExitStack()

    def __enter__(self) -> Self:
        remove_abandoned()
        while not self._lock_it():
            pass
        self._guard.enter_context(guarded(_GUARD, self.path, self._parent))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            _remove(self.path)
        finally:
            os.close(self._lock)
            self._guard.close()

    @property
    def id(self) -> int:
        """The inode number of the cgroup, which is the value of bpftrace's variable `cgroup` in the members."""
        return self.path.stat().st_ino

    def add(self, pid: int) -> None:
        """Moves a process, with threads and later children, into the cgroup, or raises TickdiskError if the kernel refuses."""
        try:
            (self.path / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise TickdiskError(f"cannot move process {pid} into {self.path}: {error.strerror}; does it still run?") from error

    def members(self) -> list[int]:
        """Returns the numbers of the processes in the cgroup that are visible in this process's namespace."""
        return _members(self.path)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Puts this process into the cgroup for a time, so that children are members from their first instruction."""
        self.add(os.getpid())
        try:
            yield
        finally:
            (self._home / "cgroup.procs").write_text(str(os.getpid()))

    def _lock_it(self) -> bool:
        """Makes and locks the folder. Returns False if another process removed the folder before it was locked."""
        try:
            self.path.mkdir(exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise TickdiskError(f"cannot make {self.path}: {error.strerror}; run as root, or capture with strace") from error
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        if self.path.is_dir() and os.fstat(self._lock).st_ino == self.path.stat().st_ino:
            return True
        os.close(self._lock)
        return False


def is_captured(pid: int) -> bool:
    """Returns whether a process is in the cgroup of a capture that has not ended."""
    remove_abandoned()
    return cgroup_of(pid).name.startswith(_PREFIX)


def remove_abandoned() -> list[Path]:
    """Removes the cgroups whose owner has died, moves their members to the cgroup above, and returns their folders."""
    removed = []
    for folder, names, _ in os.walk(hierarchy()):
        for path in (Path(folder) / name for name in names if name.startswith(_PREFIX)):
            with suppress(FileNotFoundError):
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(path)
                    removed.append(path)
                except BlockingIOError:
                    continue
                finally:
                    os.close(descriptor)
    return removed


def _members(path: Path) -> list[int]:
    return [pid for line in (path / "cgroup.procs").read_text().split() if (pid := int(line))]


def _remove(path: Path) -> None:
    deadline = time.monotonic() + _LEAVE_LIMIT_S
    while True:
        try:
            for pid in _members(path):
                with suppress(ProcessLookupError):
                    (path.parent / "cgroup.procs").write_text(str(pid))
            path.rmdir()
        except OSError as error:
            if not path.exists():  # Its owner's guard, or the init system, was faster.
                return
            if time.monotonic() > deadline:
                raise TickdiskError(f"cannot remove {path}: {error.strerror}; end what is in it, then remove it") from error
            time.sleep(0.02)
        else:
            return
