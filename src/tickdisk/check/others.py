"""Finds the programs that computed beside a server."""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tickdisk.check.record import OtherProgram
from tickdisk.foundation.process import ProcessState, state_of

_MOST, _LEAST_CORES = 3, 0.02
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Computed:
    """The processor time of a process in some time."""

    pid: int
    program: str
    processor_s: float


def processes() -> dict[int, ProcessState]:
    """Returns the state of each process of the machine by its number."""
    found = (state_of(int(path.name)) for path in Path("/proc").glob("[0-9]*"))
    return {state.pid: state for state in found if state is not None}


def computed_since(before: Mapping[int, ProcessState], server: int) -> list[Computed]:
    """Returns the processor time of each process since an earlier time, with that of its children that have ended meanwhile.

    The server, this process and its children are left out.
    """
    after = processes()
    ours = {server, os.getpid()}
    while more := {pid for pid, state in after.items() if state.parent in ours - {server} and pid not in ours}:
        ours |= more
    rows = []
    for pid, state in after.items():
        then = before.get(pid)
        used = state.used + state.waited
        used -= then.used + then.waited if then is not None and then.started == state.started else 0
        if pid not in ours and used > 0:
            rows.append(Computed(pid, _name(pid), used / _CLOCK_TICKS))
    return rows


def others_of(computed: Sequence[Computed], seconds: float) -> tuple[OtherProgram, ...]:
    """Returns the programs that computed most in so many seconds, the first one first."""
    took: dict[str, float] = defaultdict(float)
    most: dict[str, Computed] = {}
    for each in computed:
        took[each.program] += each.processor_s
        if each.program not in most or each.processor_s > most[each.program].processor_s:
            most[each.program] = each
    rows = [OtherProgram(program=name, pid=most[name].pid, cores=took[name] / seconds) for name in most]
    return tuple(sorted((row for row in rows if row.cores >= _LEAST_CORES), key=lambda row: -row.cores)[:_MOST])


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return "a program that has ended"
