"""What the machine is, and how loaded it was: a run on a machine that was busy with something else must be seen as such."""

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tickdisk.process import OWNER_VARIABLE

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KTHREADD = 2
"""The kernel's threads are children of this process, which a pid namespace of its own does not show."""


def facts() -> dict[str, object]:
    """Returns processor model, cores, memory in bytes, kernel and Python version."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def machine() -> dict[str, str | int]:
    """Returns what tells machines apart whose results must not be mixed: processor model, cores, whole GiB of memory, kernel."""
    found = facts()
    memory_gib = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30))
    cores = len(os.sched_getaffinity(0))
    return {"processor": str(found["processor"]), "cores": cores, "memory_gib": memory_gib, "kernel": str(found["kernel"])}


@dataclass(frozen=True)
class Load:
    """How loaded the machine was in an interval, as shares of wall time."""

    seconds: float
    steal_share: float
    """CPU time that the hypervisor gave to somebody else, of all cores' time (/proc/stat)."""
    busy_share: float
    pressure_cpu_share: float
    """Time in which some task waited for a core (/proc/pressure/cpu, some)."""
    pressure_io_share: float
    pressure_memory_share: float
    other_programs_share: float | None = None
    """CPU time of programs that are not the testbed's, of all cores' time: user, nice and system time without what this process,
    the workflow that started it, and all their descendants used, and without the kernel's threads. Steal and interrupts are not
    part of it. None where it was not asked for, and where the kernel's threads cannot be seen."""

    def as_dict(self) -> dict[str, float | None]:
        """Returns the fields by name."""
        return asdict(self)


def _cpu() -> tuple[int, int, int, int]:
    """Clock ticks of all cores since boot: in total, idle, stolen, and in programs and the kernel's threads."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    idle, steal = fields[3] + fields[4], fields[7]
    return sum(fields[:8]), idle, steal, sum(fields[:3])


@dataclass(frozen=True)
class _Process:
    """A line of /proc/PID/stat. Times are clock ticks; `waited` is that of children that have ended and were waited for."""

    pid: int
    parent: int
    started: int
    own: int
    waited: int


def _process(pid: int) -> _Process | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    own, waited = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return _Process(pid, int(fields[1]), int(fields[19]), own, waited)


@dataclass(frozen=True)
class _Programs:
    """The clock ticks used so far by the testbed's processes together, and by each of the kernel's threads."""

    testbed: int
    kernel: Mapping[tuple[int, int], int] | None
    """By pid and start; None where they cannot be seen."""

    def since(self, before: "_Programs") -> int | None:
        """Returns the ticks that both used since `before`; what a thread of the kernel that has ended used is not known."""
        if self.kernel is None or before.kernel is None:
            return None
        kernel = sum(used - before.kernel.get(thread, 0) for thread, used in self.kernel.items())
        return self.testbed - before.testbed + kernel


def _programs() -> _Programs:
    """The sum over a tree of processes does not change when one ends, because its parent waits for it and takes its time over."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    processes = [process for pid in pids if (process := _process(pid)) is not None]
    children: dict[int, list[_Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    roots = {os.getpid(), int(os.environ.get(OWNER_VARIABLE, os.getpid()))}
    ours = {process.pid: process for process in processes if process.pid in roots}
    waiting = list(ours)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in ours:
                ours[child.pid] = child
                waiting.append(child.pid)
    kernel = {(each.pid, each.started): each.own for each in children.get(_KTHREADD, ())} if shows_kernel_threads() else None
    return _Programs(sum(each.own + each.waited for each in ours.values()), kernel)


def shows_kernel_threads() -> bool:
    """Returns whether the kernel's threads can be seen; a pid namespace of its own hides them."""
    try:
        return Path(f"/proc/{_KTHREADD}/comm").read_text().strip() == "kthreadd"
    except (FileNotFoundError, ProcessLookupError):
        return False


def keeps_pressure() -> bool:
    """Returns whether the kernel keeps pressure accounts; where it does not pressures are recorded as 0."""
    return Path("/proc/pressure/cpu").exists()


def _pressure(kind: str) -> int:
    """Microseconds in which some task waited, 0 where the kernel keeps no pressure accounts."""
    path = Path("/proc/pressure") / kind
    try:
        return int(path.read_text().split("\n", 1)[0].rsplit("total=", 1)[1])
    except (FileNotFoundError, OSError):
        return 0


class LoadMeter:
    """Measures the machine's load from its creation to `read()`.

    With `programs` it also tells what programs that are not the testbed's used: it reads /proc/PID/stat of all processes then, at
    the beginning and at the end. One of our processes whose parent ends meanwhile becomes a child of init, and seems another's.
    """

    def __init__(self, *, programs: bool = False) -> None:
        self._programs = _programs() if programs else None
        self._at, self._cpu = time.monotonic(), _cpu()
        self._pressure = {kind: _pressure(kind) for kind in ("cpu", "io", "memory")}

    def read(self) -> Load:
        """Returns the load since the meter was made."""
        seconds = time.monotonic() - self._at
        total, idle, steal, programs = (now - before for now, before in zip(_cpu(), self._cpu, strict=True))
        total = max(total, 1)
        ours = None if self._programs is None else _programs().since(self._programs)
        others = None if ours is None else max(0.0, (programs - ours) / total)
        shares = {kind: (_pressure(kind) - before) / 1e6 / max(seconds, 1e-9) for kind, before in self._pressure.items()}
        busy = 1 - idle / total - steal / total
        return Load(seconds, steal / total, busy, shares["cpu"], shares["io"], shares["memory"], others)


def cpu_ns(pid: int) -> int | None:
    """Returns the CPU time that a process and its threads have used, user and system, in ns; None when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // _TICKS_PER_S


def thread_cpu_ns(pid: int, name: str) -> int | None:
    """Returns the CPU time in ns of the threads of a process that are called `name` (schedstat); None when it is gone."""
    used = None
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            if (task / "comm").read_text().strip() == name:
                used = (used or 0) + int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return used


@dataclass(frozen=True)
class Cores:
    """Which cores belong to whom during a live run."""

    server: tuple[int, ...]
    others: tuple[int, ...]


def split_cores() -> Cores:
    """Returns half of the cores for the server and half for clients, emulator and probes, so that neither starves the other."""
    cores = sorted(os.sched_getaffinity(0))
    half = max(1, len(cores) // 2)
    return Cores(tuple(cores[:half]), tuple(cores[half:]) or tuple(cores))
