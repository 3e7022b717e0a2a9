"""Traces a goroutine of a running program in Go: when it has a thread, when it waits, and when it calls certain functions.

A goroutine moves between threads, so that a capture of threads does not show what it does. The probes are at the entries of
functions of the program and of Go's runtime (runtime/proc.go), and need the program's table of symbols. On x86-64, register R14
has the current goroutine, and RAX the first argument (Go's internal ABI). No probe is at a return, because Go moves stacks.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pandas as pd

from tickdisk.foundation.errors import TickdiskError
from tickdisk.trace.bpftrace import unavailable
from tickdisk.trace.process import BEAT, BpftraceProcess, Finished


class GoroutineEvent(StrEnum):
    """An event in the life of a goroutine."""

    TICK = "tick"
    """It calls the function that ticks."""
    RUN = "run"
    """It begins a piece of work from its queue."""
    DONE = "done"
    """It has ended a piece of work, and tells the one who asked for it."""
    PARK = "park"
    """It begins to wait for another goroutine, for a timer or for the network."""
    READY = "ready"
    """Another goroutine ends its wait. The thread is that of the other one."""
    YIELD = "yield"
    """It gives its thread to another goroutine, and could go on."""
    ON = "on"
    """It gets a thread."""


@dataclass(frozen=True)
class WorkFunctions:
    """The functions of a program in Go by which the goroutine that ticks is recognised, by their names in its symbols."""

    tick: str
    """It is called once for each tick."""
    runs: tuple[str, ...]
    """One of them is called for each piece of work, and a tick is such a piece."""
    done: tuple[str, ...]
    """One of them is called at the end of each piece of work."""


_RUNTIME = {
    "runtime.park_m": (GoroutineEvent.PARK, "ax"),
    "runtime.ready": (GoroutineEvent.READY, "ax"),
    "runtime.goschedImpl": (GoroutineEvent.YIELD, "ax"),
    "runtime.execute": (GoroutineEvent.ON, "ax"),
}
"""For each probed function of the runtime its event, and the register that has the goroutine."""
_ELF_HEAD = struct.Struct("<16sHHIQQQIHHHHHH")
"""The head of a program in ELF for 64 bits, see elf(5)."""
_SYMTAB = 2
"""Type of the section of an ELF file that has its symbols."""
_EVENT = re.compile(rb"^(tick|run|done|park|ready|yield|on) (\d+) (\d+) (\d+)$", re.MULTILINE)


class GoroutineTrace:
    """A running trace of the goroutines of a process that do certain work."""

    def __init__(self, pid: int, functions: WorkFunctions, raw: Path, logs: Path) -> None:
        """Starts bpftrace, and returns when its probes are attached. It prints to the file `raw`, and its messages to `logs`.

        Raises TickdiskError if bpftrace cannot trace here, or if the program has no such functions among its symbols.
        """
        if reason := unavailable():
            raise TickdiskError(f"bpftrace cannot trace process {pid}: {reason}; take a machine where `tickdisk doctor` finds it")
        self._raw = raw
        self._process = BpftraceProcess("goroutine_trace", _script(pid, functions), raw, logs, None)

    @property
    def pid(self) -> int:
        """The number of bpftrace's process."""
        return self._process.pid

    def kill(self) -> None:
        """Kills bpftrace, if it has not ended already."""
        self._process.kill()

    def stop(self) -> tuple[pd.DataFrame, int]:
        """Waits until all events up to now are written, and ends bpftrace.

        The events are returned as `read_goroutines` does, with the number of those that bpftrace lost.
        """
        finished = self._process.stop()
        return read_goroutines(self._raw.read_bytes(), finished), finished.lost_printed


def read_goroutines(raw: bytes, finished: Finished) -> pd.DataFrame:
    """Reads what a trace of goroutines has printed, in the order of time.

    The columns are event (a GoroutineEvent), at_ns (of CLOCK_MONOTONIC), thread and goroutine (a number that tells it from
    others).
    """
    rows = [
        (GoroutineEvent(event.decode()), int(at) - finished.clock_offset_ns, int(thread), int(goroutine))
        for event, at, thread, goroutine in _EVENT.findall(raw)
    ]
    events = pd.DataFrame(rows, columns=["event", "at_ns", "thread", "goroutine"])
    return events.sort_values("at_ns", kind="stable", ignore_index=True)


def has_symbols(program: Path) -> bool:
    """Returns whether a program in ELF has a table of symbols, which a linker may leave out."""
    try:
        with program.open("rb") as file:
            head = file.read(_ELF_HEAD.size)
            *_, offset, _, _, _, _, size, count, _ = _ELF_HEAD.unpack(head)
            file.seek(offset)
            sections = file.read(size * count)
    except (OSError, struct.error):
        return False
    return any(struct.unpack_from("<I", sections, at + 4)[0] == _SYMTAB for at in range(0, len(sections) - 7, size))


def _script(pid: int, functions: WorkFunctions) -> str:
    program = f"/proc/{pid}/exe"
    parts = [
        _probe(program, functions.runs, "", '@work[reg("r14")] = 1; ', GoroutineEvent.RUN, "r14"),
        _probe(program, [functions.tick], "", "", GoroutineEvent.TICK, "r14"),
        _probe(program, functions.done, '/@work[reg("r14")]/\n', "", GoroutineEvent.DONE, "r14"),
    ]
    for function, (event, register) in _RUNTIME.items():
        parts.append(_probe(program, [function], f'/@work[reg("{register}")]/\n', "", event, register))
    return "".join(parts) + BEAT


def _probe(program: str, functions: Sequence[str], only: str, first: str, event: GoroutineEvent, register: str) -> str:
    points = ",\n".join(f'uprobe:{program}:"{function}"' for function in functions)
    return f'{points}\n{only}{{ {first}printf("{event} %lld %d %lld\\n", nsecs, tid, reg("{register}")); }}\n\n'
