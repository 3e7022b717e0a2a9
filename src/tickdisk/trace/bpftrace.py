"""Runs bpftrace on the members of a cgroup."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.tracefs import with_tracefs
from tickdisk.trace.calls import RING_POINT
from tickdisk.trace.cgroup import hierarchy
from tickdisk.trace.output import Ending
from tickdisk.trace.process import BpftraceProcess
from tickdisk.trace.program import MAP_ENTRIES, REQUIRED_TRACEPOINTS, TEXT_BYTES, fault_point, missing, points, program


def unavailable() -> str | None:
    """Returns the reason why bpftrace cannot capture on this machine, as a clause without a full stop, or None if it can."""
    if os.uname().machine != "x86_64":
        return "Tickdisk knows the numbers of system calls for x86_64 only"
    if os.geteuid() != 0:
        return "it needs root"
    if shutil.which("bpftrace") is None:
        return "bpftrace is not installed"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "this kernel does not describe its types (/sys/kernel/btf/vmlinux)"
    try:
        hierarchy()
        lacks = sorted(REQUIRED_TRACEPOINTS - _present())
    except TickdiskError as error:
        return str(error)
    return f"this kernel lacks the tracepoint {lacks[0]}" if lacks else None


def version() -> str:
    """Returns bpftrace's version, e.g. `0.17.0`."""
    return process.run(["bpftrace", "--version"], timeout_s=10).strip().removeprefix("bpftrace v")


@dataclass(frozen=True)
class BpftraceEnding(Ending):
    """The end of bpftrace."""

    clock_offset_ns: int
    """The number to subtract from time stamps to get CLOCK_MONOTONIC. They are in CLOCK_BOOTTIME, except with old kernels."""
    lost_printed: int
    """The number of lines that bpftrace lost."""
    missing: Sequence[str]
    """The tracepoints that this kernel lacks."""
    faults: str | None
    """The tracepoint of page faults, if there is one."""
    has_rings: bool
    """Whether requests to io_uring were captured."""


class Bpftrace:
    """A running bpftrace, which captures all processes in one cgroup."""

    def __init__(self, cgroup: int, raw: Path, logs: Path, cores: Sequence[int] | None) -> None:
        """Starts bpftrace on the cgroup with this inode number, and returns when its probes are attached."""
        if reason := unavailable():
            raise TickdiskError(f"bpftrace cannot capture: {reason}; capture with strace")
        present = _present()
        # Ctrl-C reaches every program that is started later, so the version is asked for now.
        self._missing, self._faults, self._version = missing(present), fault_point(present), version()
        environment = {"BPFTRACE_STRLEN": str(TEXT_BYTES), "BPFTRACE_MAP_KEYS_MAX": str(MAP_ENTRIES)}
        self._process = BpftraceProcess("bpftrace", program(cgroup, present), raw, logs, cores, environment)

    def stop(self, gives_up: Callable[[], bool] | None = None) -> BpftraceEnding:
        """Waits until all events up to now are written, and ends bpftrace, as `BpftraceProcess.stop` does."""
        return BpftraceEnding(
            version=self._version,
            missing=self._missing,
            faults=self._faults,
            has_rings=RING_POINT not in self._missing,
            **asdict(self._process.stop(gives_up)),
        )

    @property
    def pid(self) -> int:
        """The number of bpftrace's process, whose processor time is part of the cost of capturing."""
        return self._process.pid

    def kill(self) -> None:
        """Kills bpftrace, if it has not ended already. Events that it has not written yet are lost."""
        self._process.kill()


def _present() -> set[str]:
    """Returns the tracepoints of the program that this kernel has."""
    words = " ".join(point.replace(":", "/") for point in points())
    listed = process.run(
        with_tracefs(f"cd /sys/kernel/tracing/events; ls -d {words} 2>/dev/null || true"), what="listing tracepoints"
    )
    return {line.replace("/", ":") for line in listed.split()}
