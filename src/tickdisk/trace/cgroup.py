"""A cgroup of our own: how bpftrace tells the traced processes from all others, in whatever process namespace they are."""

import fcntl
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from tickdisk.errors import TickdiskError

_PREFIX = "tickdisk-"
_EMPTY_S = 5.0
"""How long members that are ending may take to leave."""
_numbers = itertools.count()


def hierarchy() -> Path:
    """Returns where the cgroup v2 hierarchy is mounted; TickdiskError when it is not."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where.encode().decode("unicode_escape"))
    raise TickdiskError("no cgroup v2 hierarchy is mounted, so bpftrace cannot select processes; capture with strace")


def cgroup_of(pid: int) -> Path:
    """Returns the folder of the cgroup v2 that a process is in; the hierarchy's top when it lies outside of what we see."""
    top = hierarchy()
    for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        if line.startswith("0::/") and (folder := top / line[4:]).is_dir() and ".." not in folder.parts:
            return folder
    return top


class Cgroup:
    """A cgroup v2 below the one that process `below` is in (ours, unless told otherwise), so that limits stay as they are.

    We hold a lock on its folder, which the kernel releases when we die, in whatever process namespace that was: cgroups whose
    lock is free are left over, and the next start removes them. Members go back to where they came from.
    """

    def __init__(self, below: int | None = None) -> None:
        self._home = cgroup_of(os.getpid())
        self._parent = self._home if below is None else cgroup_of(below)
        self.path = self._parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        self._lock = -1

    def __enter__(self) -> Self:
        remove_left()
        while not self._lock_it():
            pass
        return self

    def __exit__(self, *_: object) -> None:
        try:
            _remove(self.path)
        finally:
            os.close(self._lock)

    @property
    def id(self) -> int:
        """What bpftrace's `cgroup` is in its members: the inode number."""
        return self.path.stat().st_ino

    def add(self, pid: int) -> None:
        """Moves a process, with all its threads, into the cgroup; what it starts from now on is in it, too."""
        try:
            (self.path / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise TickdiskError(f"cannot move process {pid} into {self.path}: {error.strerror}; does it still run?") from error

    def members(self) -> list[int]:
        """Returns the processes in the cgroup that our process namespace shows."""
        return _members(self.path)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Puts this process into the cgroup, so that what it starts meanwhile is in it from its first instruction."""
        self.add(os.getpid())
        try:
            yield
        finally:
            (self._home / "cgroup.procs").write_text(str(os.getpid()))

    def _lock_it(self) -> bool:
        """Makes and locks the folder; False when another start took it for left over in between."""
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


def remove_left() -> list[Path]:
    """Removes the cgroups whose owners died, and returns them; their members go to the cgroup above."""
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
    deadline = time.monotonic() + _EMPTY_S
    while True:
        for pid in _members(path):
            with suppress(ProcessLookupError):
                (path.parent / "cgroup.procs").write_text(str(pid))
        try:
            path.rmdir()
        except OSError as error:
            if time.monotonic() > deadline:
                raise TickdiskError(f"cannot remove {path}: {error.strerror}; end what is in it, then remove it") from error
            time.sleep(0.02)
        else:
            return
