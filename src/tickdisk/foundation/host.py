"""Describes this machine, measures its load, and divides its cores between the game server and all other programs.

Results are stored with their `MachineLoad`, so that a busy machine shows.
"""

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tickdisk.foundation.cores import Cores
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import OWNER_VARIABLE, ProcessState, state_of
from tickdisk.foundation.record import Record, Unit

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KTHREADD = 2
"""Pid of the process whose children are the kernel's threads. It cannot be seen from within another pid namespace."""


class HostFacts(Record):
    """The machine on which a result was made."""

    processor: str
    """The name of the processor."""
    cores: Annotated[int, Unit("cores")]
    """The number of cores that Tickdisk may use."""
    memory_bytes: int
    """The size of the memory."""
    kernel: str
    """The version of the kernel."""
    python: str
    """The version of Python."""


class MachineKind(Record):
    """The properties in which machines must agree if their results are to be used together."""

    processor: str
    """The name of the processor."""
    cores: Annotated[int, Unit("cores")]
    """The number of cores that the machine has, whether or not Tickdisk may use all of them."""
    memory_gib: int
    """The size of the memory, rounded."""
    kernel: str
    """The version of the kernel."""


def facts() -> HostFacts:
    """Describes this machine for the record of a result."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return HostFacts(
        processor=model,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        python=platform.python_version(),
    )


def machine() -> MachineKind:
    """Describes this machine by the properties in which machines must agree if their results are to be used together."""
    host = facts()
    memory_gib, cores = round(host.memory_bytes / (1 << 30)), os.cpu_count() or host.cores
    return MachineKind(processor=host.processor, cores=cores, memory_gib=memory_gib, kernel=host.kernel)


@dataclass(frozen=True)
class MachineLoad:
    """The load of the machine in an interval of time, as `LoadMeter.read` returns it.

    It shows whether something else disturbed a measurement. A share of 1 is all of it. CPU times are shares of all cores'
    time, and pressures are shares of wall time.
    """

    seconds: float
    """Length of the interval in s."""
    steal_share: float
    """Share of all cores' time that the hypervisor gave to other guests (/proc/stat)."""
    busy_share: float
    """Share of all cores' time in which the cores were neither idle nor stolen."""
    pressure_cpu_share: float
    """Share of the interval in which some task waited for a core (/proc/pressure/cpu, some)."""
    pressure_io_share: float
    """Share of the interval in which some task waited for storage."""
    pressure_memory_share: float
    """Share of the interval in which some task waited for memory."""
    other_programs_share: float | None = None
    """Share of all cores' time that programs outside the testbed used. This is user, nice and system time without the time of
    this process, of the workflow that started it, of all their descendants, and of the kernel's threads. Stolen time and the time
    of interrupts are not part of it. None if it was not asked for, or if the kernel's threads cannot be seen."""


def _cpu() -> tuple[int, int, int, int]:
    """Returns clock ticks of all cores since boot: in total, idle, stolen, and in programs and the kernel's threads."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    idle, steal = fields[3] + fields[4], fields[7]
    return sum(fields[:8]), idle, steal, sum(fields[:3])


@dataclass(frozen=True)
class _Programs:
    """The clock ticks that the testbed's processes together, and each of the kernel's threads, have used so far."""

    testbed: int
    kernel: Mapping[tuple[int, int], int] | None
    """Clock ticks of each of the kernel's threads by pid and start time. None if the threads cannot be seen."""

    def since(self, before: "_Programs") -> int | None:
        """Returns the clock ticks that the testbed and the kernel's threads used since `before`.

        The time of a kernel thread that has ended meanwhile is not known and is left out.
        """
        if self.kernel is None or before.kernel is None:
            return None
        kernel = sum(used - before.kernel.get(thread, 0) for thread, used in self.kernel.items())
        return self.testbed - before.testbed + kernel


def _programs() -> _Programs:
    """Returns the clock ticks of the testbed and of the kernel's threads.

    The sum over a tree of processes does not change when a process ends, because its parent waits for it and its time is then
    added to the parent's.
    """
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    processes = [process for pid in pids if (process := state_of(pid)) is not None]
    children: dict[int, list[ProcessState]] = {}
    for each in processes:
        children.setdefault(each.parent, []).append(each)
    roots = {os.getpid(), int(os.environ.get(OWNER_VARIABLE, os.getpid()))}
    ours = {each.pid: each for each in processes if each.pid in roots}
    waiting = list(ours)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in ours:
                ours[child.pid] = child
                waiting.append(child.pid)
    kernel = {(each.pid, each.started): each.used for each in children.get(_KTHREADD, ())} if shows_kernel_threads() else None
    return _Programs(sum(each.used + each.waited for each in ours.values()), kernel)


def shows_kernel_threads() -> bool:
    """Returns whether this process can see the kernel's threads, which a pid namespace hides.

    Without them, the CPU time of other programs (`MachineLoad.other_programs_share`) cannot be told.
    """
    try:
        return Path(f"/proc/{_KTHREADD}/comm").read_bytes().strip() == b"kthreadd"
    except (FileNotFoundError, ProcessLookupError):
        return False


def keeps_pressure() -> bool:
    """Returns whether the kernel keeps pressure accounts. If it does not, the pressures of a `MachineLoad` are recorded as 0."""
    return Path("/proc/pressure/cpu").exists()


def _pressure(kind: str) -> int:
    """Returns the microseconds since boot in which some task waited, or 0 if the kernel keeps no pressure accounts."""
    path = Path("/proc/pressure") / kind
    try:
        return int(path.read_text().split("\n", 1)[0].rsplit("total=", 1)[1])
    except (FileNotFoundError, OSError):
        return 0


class LoadMeter:
    """A meter of the machine's load. It measures from its own creation to each call of `read`.

    With `programs`, it measures also the CPU time of programs outside the testbed, for which it reads /proc/PID/stat of all
    processes. A process of the testbed whose parent ends meanwhile becomes a child of init, and its time is then counted as that
    of another program.
    """

    def __init__(self, *, programs: bool = False) -> None:
        self._programs = _programs() if programs else None
        self._at, self._cpu = time.monotonic(), _cpu()
        self._pressure = {kind: _pressure(kind) for kind in ("cpu", "io", "memory")}

    def read(self) -> MachineLoad:
        """Returns the load since the meter was created. It can be called again, and each time counts from the creation."""
        seconds = time.monotonic() - self._at
        total, idle, steal, programs = (now - before for now, before in zip(_cpu(), self._cpu, strict=True))
        total = max(total, 1)
        ours = None if self._programs is None else _programs().since(self._programs)
        others_share = None if ours is None else max(0.0, (programs - ours) / total)
        shares = {kind: (_pressure(kind) - before) / 1e6 / max(seconds, 1e-9) for kind, before in self._pressure.items()}
        busy = 1 - idle / total - steal / total
        return MachineLoad(seconds, steal / total, busy, shares["cpu"], shares["io"], shares["memory"], others_share)


def cpu_ns(pid: int) -> int | None:
    """Returns the user and system CPU time of a process with all its threads since its start, in whole clock ticks.

    Returns None if the process is gone.
    """
    process = state_of(pid)
    return None if process is None else process.used * 1_000_000_000 // _TICKS_PER_S


def cpu_ns_with_children(pid: int) -> int | None:
    """Returns the CPU time of a process and of all its children, also of those that have ended, in whole clock ticks.

    Children of children do not count before they have ended. Returns None if the process is gone.
    """
    process = state_of(pid)
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        children = []
    if process is None:
        return None
    alive = sum(child.used + child.waited for one in children if (child := state_of(int(one))) is not None)
    return (process.used + process.waited + alive) * 1_000_000_000 // _TICKS_PER_S


def thread_cpu_ns(pid: int, thread: int) -> int | None:
    """Returns the CPU time of a thread since its start, or None if it is gone. `thread` is its identity in the kernel."""
    try:
        return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return None


def thread_named(pid: int, name: str) -> int | None:
    """Returns the identity in the kernel of the first thread of this name. None if the process or such a thread is not there."""
    for task in sorted(Path(f"/proc/{pid}/task").glob("*"), key=lambda task: int(task.name)):
        try:
            if (task / "comm").read_bytes().strip() == os.fsencode(name):
                return int(task.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return None


_chosen: list[Cores] = []
"""The division that the configuration names. Empty if it names none."""


def choose_cores(cores: Cores | None) -> None:
    """Lets `split_cores` return `cores` from now on, or what it finds itself if that is None.

    Raises TickdiskError if this process may not use one of them.
    """
    lacking = set() if cores is None else {*cores.server, *cores.others} - os.sched_getaffinity(0)
    if lacking:
        usable = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise TickdiskError(
            f"the configuration names core {min(lacking)} under cores, and there are {usable}; name some of these"
        )
    _chosen[:] = [] if cores is None else [cores]


def split_cores() -> Cores:
    """Returns the cores that the configuration names, or else a division of the cores that this process may use.

    The server has the first half. The clients and the emulator share the rest, or have a half of it each if it is more than one
    core. A single core is given to all.
    """
    if _chosen:
        return _chosen[0]
    cores = tuple(sorted(os.sched_getaffinity(0)))
    half = max(1, len(cores) // 2)
    rest = cores[half:] or cores
    middle = (len(rest) + 1) // 2
    return Cores(server=cores[:half], clients=rest[:middle], emulator=rest[middle:] or rest)
