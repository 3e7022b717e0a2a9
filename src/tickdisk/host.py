"""What the machine is, and how loaded it was: a run on a machine that was busy with something else must be seen as such."""

import os
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


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

    def as_dict(self) -> dict[str, float]:
        """Returns the fields by name."""
        return asdict(self)


def _cpu() -> tuple[int, int, int]:
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    idle, steal = fields[3] + fields[4], fields[7]
    return sum(fields[:8]), idle, steal


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
    """Measures the machine's load from its creation to `read()`."""

    def __init__(self) -> None:
        self._at, self._cpu = time.monotonic(), _cpu()
        self._pressure = {kind: _pressure(kind) for kind in ("cpu", "io", "memory")}

    def read(self) -> Load:
        """Returns the load since the meter was made."""
        seconds = time.monotonic() - self._at
        total, idle, steal = (now - before for now, before in zip(_cpu(), self._cpu, strict=True))
        total = max(total, 1)
        shares = {kind: (_pressure(kind) - before) / 1e6 / max(seconds, 1e-9) for kind, before in self._pressure.items()}
        return Load(seconds, steal / total, 1 - idle / total - steal / total, shares["cpu"], shares["io"], shares["memory"])


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
