"""Measures what a check costs the server, which is its own control: it is captured in some seconds and left alone in others."""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

import numpy as np

from tickdisk import stats
from tickdisk.check.record import Price
from tickdisk.foundation.process import state_of

_PERIOD_S = 0.5
_SAMPLES, _ALPHA = 2000, 0.05
_FEWEST = 8
"""Least number of intervals of each kind."""
_MOST_THREADS = 1000
"""With more threads than this, the time of each is not read, but that of the process, which has steps of 10 ms."""
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Phase(StrEnum):
    """A phase of a check, by whether the server is captured."""

    FREE = "free"
    CAPTURED = "captured"
    BETWEEN = "between"
    """The instrument starts or ends."""
    COUNTED = "counted"
    """The kernel's counters are read, because nothing can capture."""


@dataclass(frozen=True)
class Interval:
    """Half a second of the server."""

    phase: Phase
    seconds: float
    server_s: float
    """Processor time of the server."""
    tool_s: float
    """Processor time of the instrument."""


@dataclass
class _At:
    ns: int
    server: Mapping[int, int]
    """Processor time of each thread in ns, by its number, or of the whole process, by 0."""
    tool: int
    tools: tuple[int, ...]
    """Numbers of the processes of the instrument, whose processor time `tool` is, in clock ticks."""

    def server_ns(self, before: "_At") -> int:
        """Returns the processor time of the server since an earlier time. The last time of ended threads is left out."""
        return sum(ns - before.server.get(thread, 0) for thread, ns in self.server.items())


class Meter:
    """Reads the processor time of a server and of the instrument twice a second, while it is used as a context manager."""

    def __init__(self, pid: int) -> None:
        self.intervals: list[Interval] = []
        self._pid, self._phase = pid, Phase.BETWEEN
        self._tools: tuple[int, ...] = ()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._is_exact = len(_processor_ns_of_threads(pid)) <= _MOST_THREADS
        self._before = self._read()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def now(self, phase: Phase, tools: Sequence[int] = ()) -> None:
        """Says what the check does from now on, and which processes are the instrument."""
        with self._lock:
            self._step()
            self._phase, self._tools = phase, tuple(tools)
            self._before = self._read()

    def _run(self) -> None:
        while not self._ended.wait(_PERIOD_S):
            with self._lock:
                self._step()

    def _step(self) -> None:
        after, before = self._read(), self._before
        if after is not None and before is not None and after.ns > before.ns:
            seconds = (after.ns - before.ns) / 1e9
            tool = (after.tool - before.tool) / _CLOCK_TICKS if after.tools == before.tools else 0.0
            self.intervals.append(Interval(self._phase, seconds, after.server_ns(before) / 1e9, tool))
        self._before = after

    def _read(self) -> _At | None:
        server = _processor_ns_of_threads(self._pid) if self._is_exact else {0: processor_ns(self._pid) or 0}
        tools = [state for pid in self._tools if (state := state_of(pid)) is not None]
        if not any(server.values()):
            return None
        return _At(time.monotonic_ns(), server, sum(state.used for state in tools), tuple(state.pid for state in tools))


def processor_ns(pid: int) -> int | None:
    """Returns the processor time of a process with all its threads in ns, in steps of 10 ms, or None if it has ended."""
    state = state_of(pid)
    return None if state is None or state.has_ended else state.used * 1_000_000_000 // _CLOCK_TICKS


def _processor_ns_of_threads(pid: int) -> dict[int, int]:
    """Returns the processor time of each thread in ns, as the scheduler counts it. There is none if the process has ended."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):  # It has ended.
            found[int(thread.name)] = int((thread / "schedstat").read_text().split()[0])
    return found


def price_of(intervals: Sequence[Interval], rng: np.random.Generator) -> Price | None:
    """Compares the server's processor time with a capture and without. Returns None if too little was seen, or if it was idle.

    The interval comes from a stationary block bootstrap over the half seconds of each kind.
    """
    own = {phase: [one for one in intervals if one.phase is phase and one.server_s >= 0] for phase in Phase}
    captured, free = own[Phase.CAPTURED], own[Phase.FREE]
    if min(len(captured), len(free)) < _FEWEST or not sum(one.server_s for one in free):
        return None
    drawn = [_rates(group, rng) for group in (captured, free)]
    ratio = _rate(captured) / _rate(free)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.quantile(drawn[0] / drawn[1], [_ALPHA / 2, 1 - _ALPHA / 2])
    if not np.isfinite([low, high]).all():  # The server hardly computes.
        return None
    return Price(
        ratio=ratio,
        low=float(low),
        high=float(high),
        captured_s=sum(one.seconds for one in captured),
        free_s=sum(one.seconds for one in free),
        tool_cores=sum(one.tool_s for one in captured) / sum(one.seconds for one in captured),
    )


def _rate(group: Sequence[Interval]) -> float:
    return sum(one.server_s for one in group) / sum(one.seconds for one in group)


def _rates(group: Sequence[Interval], rng: np.random.Generator) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    used, seconds = (np.array([getattr(one, name) for one in group]) for name in ("server_s", "seconds"))
    rows = stats.stationary_indices(len(group), stats.block_length(used / seconds), _SAMPLES, rng)
    rates: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = used[rows].sum(axis=1) / seconds[rows].sum(axis=1)
    return rates
