"""Looks at a running server: it is captured in some windows, and left alone before, between and after them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from tickdisk import server, trace
from tickdisk.blame import CaptureEvidence
from tickdisk.check.disk import disk_of, disk_of_requests, traced
from tickdisk.check.find import FoundServer, ServerKind, ticking_thread
from tickdisk.check.goroutines import followed
from tickdisk.check.held import Held, LockWatch
from tickdisk.check.others import Computed, computed_since, processes
from tickdisk.check.pauses import pauses_of
from tickdisk.check.price import Interval, Meter, Phase
from tickdisk.check.rests import PERIOD_S, Rests
from tickdisk.foundation import clock, memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity

_FREE_SHARE, _WINDOWS = 0.1, 2
"""Part of the time that each pause without a capture takes, and the number of captures between the pauses."""
_SHORTEST_S = 20.0
"""A shorter check is one capture without pauses, whose price is not measured."""
_LOOKS = 5
"""After so many looks at the thread that ticks, the check also looks at the locks and at the room in memory."""
_RESERVE_BYTES = 64 << 20
"""Room in memory that is left for other programs and for what the instrument writes at its end."""
_MOST_BYTES = 1 << 30
"""Most bytes that a capture may take in memory."""


@dataclass
class Look:
    """The captures of a server, and what it computed meanwhile."""

    captures: list[CaptureEvidence]
    intervals: list[Interval]
    realtime_offset_ns: int
    """Number to add to a time of CLOCK_MONOTONIC to get the time since 1970."""
    cut: list[str] = field(default_factory=list)
    """Reasons for which a capture ended early."""
    held: list[Held] = field(default_factory=list)
    """Times in which other processes held locks on the server's files."""
    disk: Path | None = None
    """The disk of the server's files."""
    blocks: list[tuple[Path, trace.BlockRequests]] = field(default_factory=list)
    """The traced disk and its requests, for each capture in which they could be traced."""
    others: list[Computed] = field(default_factory=list)
    """The processor time of other processes in each capture."""


@dataclass(frozen=True)
class Now:
    """The state of a check that runs, for its display."""

    seconds: float
    of_seconds: float
    phase: Phase
    server_cores: float
    """Processor time of the server in the last half second, in cores."""
    rests: Rests | None = None
    """The looks at the thread that ticks. It is None if the server has no such thread."""


Show = Callable[[Now], None]
"""It is called with the state of a check fifty times a second, to display it. It raises KeyboardInterrupt to end the check."""


def look(found: FoundServer, seconds: float, logs: Path, show: Show, named: str | None = None) -> Look:
    """Captures a running server by bpftrace for so many seconds in all, with pauses.

    `logs` is a folder for the messages of the instrument, and `named` is the thread that ticks, if the user named one. Ctrl-C
    ends the check early, and keeps what was captured. Raises TickdiskError if the process does not run, or if bpftrace cannot
    capture.
    """
    pid = found.pid
    process = ProcessIdentity.of(pid)
    if process is None:
        raise TickdiskError(f"process {pid} does not run; `tickdisk check` without --pid finds the game servers of this machine")
    if memory.free_bytes() < memory.LEAST_BYTES:
        raise TickdiskError(f"{memory.MEMORY} has no room for a capture; {memory.MORE_MEMORY}")
    seen = Look([], [], time.time_ns() - time.monotonic_ns(), disk=disk_of(pid))
    free_s = _FREE_SHARE * seconds if seconds >= _SHORTEST_S else 0.0
    windows = _WINDOWS if free_s else 1
    capture_s = (seconds - (windows + 1) * free_s) / windows
    with Meter(pid) as meter:
        watch = _Watch(process, meter, seconds, show, LockWatch(pid), *_rests(found, named))
        try:
            _leave_alone(watch, free_s)
            for number in range(windows):
                with _captured(watch, number, logs, seen, None if named is not None else found.kind):
                    watch.wait(capture_s, seen)
                _leave_alone(watch, free_s)
        except KeyboardInterrupt:
            if not seen.captures:
                raise TickdiskError("Ctrl-C ended the check before anything was captured") from None
            seen.cut.append("the rest of the check, which Ctrl-C ended")
        except (_EndedError, TickdiskError, OSError) as error:
            if not process.alive():
                seen.cut.append(f"process {pid} ended")
            elif seen.captures:
                seen.cut.append(str(error))
            else:
                raise
    seen.intervals.extend(meter.intervals)
    seen.held.extend(watch.locks.held)
    return seen


class _EndedError(Exception):
    """The server has ended."""


@dataclass
class _Watch:
    process: ProcessIdentity
    meter: Meter
    of_seconds: float
    show: Show
    locks: LockWatch
    thread: int | None
    rests: Rests | None
    phase: Phase = Phase.BETWEEN
    done_s: float = 0.0
    folder: Path | None = None
    _looks: int = 0

    def begin(self, phase: Phase, tools: Sequence[int] = (), folder: Path | None = None) -> None:
        self.phase, self.folder = phase, folder
        self.meter.now(phase, tools)

    def wait(self, seconds: float, seen: Look | None = None) -> None:
        """Waits, while the display is kept up to date. A capture ends early if it has no room left."""
        began_s = time.monotonic()
        try:
            while (ran_s := time.monotonic() - began_s) < seconds:
                last = self.meter.intervals[-1:] or [Interval(self.phase, 1, 0, 0)]
                now = self.done_s + ran_s, self.of_seconds, self.phase, last[0].server_s / last[0].seconds, self.rests
                self.show(Now(*now))
                if self.rests is not None and self.thread is not None:
                    self.rests.look_at(self.process.pid, self.thread)
                self._looks += 1
                if self._looks % _LOOKS == 0:
                    if not self.process.alive():
                        raise _EndedError
                    self.locks.look()
                    if seen is not None and not self._has_room():
                        seen.cut.append("a capture filled the memory that it may take")
                        return
                time.sleep(PERIOD_S)
        finally:
            self.done_s += time.monotonic() - began_s

    def _has_room(self) -> bool:
        written = sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file()) if self.folder else 0
        return written < _MOST_BYTES and memory.free_bytes() > _RESERVE_BYTES


def _rests(found: FoundServer, named: str | None) -> tuple[int | None, Rests | None]:
    """Returns the number of the thread that ticks, and what is taken down of it, or None for a server without such a thread."""
    if named is None and (found.kind is None or not found.kind.tick_threads):
        return None, None
    return ticking_thread(found, named)[0], Rests.of(found)


def _leave_alone(watch: _Watch, seconds: float) -> None:
    watch.begin(Phase.FREE)
    watch.wait(seconds)
    watch.begin(Phase.BETWEEN)


@contextmanager
def _captured(watch: _Watch, number: int, logs: Path, seen: Look, kind: ServerKind | None) -> Iterator[None]:
    """Captures while the block runs, and adds what was captured to what was seen, also if the block is interrupted."""
    watch.show(Now(watch.done_s, watch.of_seconds, Phase.BETWEEN, 0.0))
    logs = logs / str(number)
    with (
        memory.guarded_folder() as fast,
        clock.Sampler() as clocks,
        traced(seen.disk, fast, logs, seen.blocks) as blocks,
        followed(watch.process.pid, kind, fast, logs, seen.cut) as goroutines,
        trace.start("bpftrace", target=watch.process.pid, folder=fast, logs=logs) as recording,
    ):
        tools = [recording, *(tool for tool in (blocks, goroutines.running) if tool is not None)]
        watch.begin(Phase.CAPTURED, [tool.pid for tool in tools], fast)
        before = processes()
        try:
            yield
        finally:
            watch.begin(Phase.BETWEEN)
            seen.others.extend(computed_since(before, watch.process.pid))
            raw = recording.stop(lambda: False)
            samples = pd.concat([clocks.table(), pd.DataFrame([clock.sample()])])
            parsed = trace.parse(raw, samples, classify=server.classify)
            seen.captures.append(goroutines.explained(_evidence(f"window {number + 1}", parsed)))
            # It was guessed from the open files until now.
            seen.disk = disk_of_requests(watch.process.pid, parsed.requests) or seen.disk


def _evidence(name: str, parsed: trace.ParsedCapture) -> CaptureEvidence:
    assert parsed.waits is not None
    summary = parsed.summary
    return CaptureEvidence(
        name,
        parsed.requests,
        parsed.waits,
        summary.span_ns,
        pauses=pauses_of(parsed.waits),
        lost_events=summary.lost_events,
        lacks=parsed.lacks,
    )
