"""Limits what a server may use of the processor and of memory, by a cgroup of its own (version 1 or 2).

A page of the page cache belongs to the cgroup of the process that first read or wrote it, so a limit of memory is also one of the
cache.
"""

import errno
import itertools
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.guard import guarded

_PERIOD_US = 100_000
"""Period in which a group gets its share of the processor. It is the kernel's own."""
_REMOVE_S = 5.0
_REFAULTS = "workingset_refault_file"
_numbers = itertools.count()
_GUARD = """
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  left=0
  for folder in "$@"; do [ ! -d "$folder" ] || rmdir "$folder" || left=1; done
  [ "$left" = 0 ] && exit 0
  sleep 0.2
done
"""
"""A program of the shell that removes the groups when their owner has ended, also after kill -9. Their processes end with it."""


@dataclass(frozen=True)
class Quota:
    """A share of the processor and a limit of memory. None stands for no limit."""

    cores: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Usage:
    """The memory of a group, and counts of throttled time and of pages that were read again since it was made."""

    refaults: int
    """Pages of files that were read again because they had been dropped for want of memory."""
    cached_bytes: int
    """Size of its pages of files in memory."""
    own_bytes: int
    """Size of its other memory, with what the kernel keeps for it."""
    throttled_ns: int
    """Time for which its processes had to wait because their share of the processor was used up, summed over processors."""
    at_ns: int
    """Time of CLOCK_MONOTONIC at which this was read."""


class Group:
    """A cgroup with a quota, which processes join by `folders`. It exists while it is used as a context manager, and its
    processes must end before it does.

    Entering raises TickdiskError if the kernel does not allow such a group.
    """

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self.number = next(_numbers)
        """Number of the group in this process, which is part of its name."""
        self._name = f"tickdisk-quota-{os.getpid()}-{self.number}"
        self._folders: dict[str, Path] = {}
        self._guard = ExitStack()

    def __enter__(self) -> Self:
        homes = list(_homes())
        self._folders = {controller: (_top(home) if is_v2 else home) / self._name for controller, home, is_v2 in homes}
        # The guard comes first, so that nothing is left whenever this process is killed.
        self._guard.enter_context(guarded(_GUARD, *self.folders))
        try:
            for folder in self.folders:
                if (folder.parent / "cgroup.subtree_control").exists():
                    _enable(folder.parent)
                folder.mkdir()
            for controller, _, is_v2 in homes:
                for name, value in self._limits(controller, is_v2).items():
                    (self._folders[controller] / name).write_text(value)
        except OSError as error:
            self._guard.close()
            raise TickdiskError(
                f"a group with a quota cannot be made ({error.filename}: {error.strerror}); run as root, on a machine or in a "
                "container that may make cgroups"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._remove()
        finally:
            self._guard.close()

    @property
    def folders(self) -> list[Path]:
        """The folders of the group's cgroups, which a process can join."""
        return list(dict.fromkeys(self._folders.values()))

    def usage(self) -> Usage:
        """Returns what the group has met of its limits so far. Raises TickdiskError if the kernel does not count it."""
        memory, cpu = (_numbers_of(self._folders[name] / f"{name}.stat") for name in ("memory", "cpu"))
        if _REFAULTS not in memory:
            raise TickdiskError(
                f"{self._folders['memory']}/memory.stat does not count refaults ({_REFAULTS}); use Linux 5.9 or newer"
            )
        throttled_ns = cpu["throttled_time"] if "throttled_time" in cpu else 1000 * cpu.get("throttled_usec", 0)
        cached_bytes = memory.get("cache", memory.get("file", 0))
        used = self._folders["memory"] / ("memory.current" if self._is_v2 else "memory.usage_in_bytes")
        own_bytes = max(0, int(used.read_text(encoding="ascii")) - cached_bytes)
        return Usage(memory[_REFAULTS], cached_bytes, own_bytes, throttled_ns, time.monotonic_ns())

    def limit(self, memory_bytes: int) -> bool:
        """Limits the memory of a group that runs, and returns whether the group could be brought below the limit at once.

        A group that needs more waits for a higher limit, and none of its processes is killed.
        """
        folder = self._folders["memory"]
        if self._is_v2:
            (folder / "memory.high").write_text(str(memory_bytes))
            return True
        (folder / "memory.oom_control").write_text("1")
        try:
            (folder / "memory.limit_in_bytes").write_text(str(memory_bytes))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    @property
    def _is_v2(self) -> bool:
        return not (self._folders["memory"] / "memory.limit_in_bytes").exists()

    def _limits(self, controller: str, is_v2: bool) -> Mapping[str, str]:
        cores, memory_bytes = self._quota.cores, self._quota.memory_bytes
        if controller == "memory":
            return {} if memory_bytes is None else {"memory.max" if is_v2 else "memory.limit_in_bytes": str(memory_bytes)}
        if cores is None:
            return {}
        quota_us = round(cores * _PERIOD_US)
        return {"cpu.max": f"{quota_us} {_PERIOD_US}"} if is_v2 else {"cpu.cfs_quota_us": str(quota_us)}

    def _remove(self) -> None:
        until = time.monotonic() + _REMOVE_S
        for folder in self.folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError as error:
                    if time.monotonic() > until:
                        raise TickdiskError(
                            f"cannot remove {folder}: {error.strerror}; end what is in it, then remove it"
                        ) from error
                    time.sleep(0.02)


def _homes() -> Iterator[tuple[str, Path, bool]]:
    """Yields the controllers cpu and memory, each with the folder of this process's cgroup, and whether it is one of version 2.

    Raises TickdiskError if a controller is not there.
    """
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        own |= dict.fromkeys(names.split(","), path)
    mounts = [line.split()[1:4] for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    for controller in ("cpu", "memory"):
        first = next((where for where, kind, options in mounts if kind == "cgroup" and controller in options.split(",")), None)
        second = next((where for where, kind, _ in mounts if kind == "cgroup2"), None)
        if first is not None and controller in own:
            yield controller, _visible(Path(first), own[controller]), False
        elif second is not None and "" in own:
            yield controller, _visible(Path(second), own[""]), True
        else:
            raise TickdiskError(f"the kernel has no cgroup controller {controller} here, so that no server can be limited")


def _visible(top: Path, path: str) -> Path:
    """Returns the folder of a cgroup, or the top of the hierarchy if this process cannot see that folder."""
    folder = top / path.lstrip("/")
    return folder if folder.is_dir() else top


def _top(home: Path) -> Path:
    """Returns the top of the hierarchy of version 2. Only there may a group lie beside processes."""
    while (home.parent / "cgroup.procs").exists():
        home = home.parent
    return home


def _enable(top: Path) -> None:
    """Lets groups below the top have quotas. On most systems they may already."""
    enabled = (top / "cgroup.subtree_control").read_text(encoding="ascii").split()
    for controller in ("cpu", "memory"):
        if controller not in enabled:
            (top / "cgroup.subtree_control").write_text(f"+{controller}")


def _numbers_of(path: Path) -> dict[str, int]:
    """Returns the numbers in a file of lines with a name and a number."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) == 2}  # noqa: PLR2004 - a name and a number
