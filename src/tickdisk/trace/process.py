"""Runs a program of bpftrace, and ends it without losing events.

Each core prints a line (a beat) ten times a second. A beat shows that the probes are attached, and that everything which this
core printed before is in the file.
"""

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.tracefs import with_tracefs

BEAT = 'profile:hz:10\n{\n  printf("beat 0 0 %lld %d 0 0 0\\n", nsecs, cpu);\n}\n'
"""The part of a program that prints beats."""
_ATTACH_S = 60.0
_WRITE_S = 120.0
_GIVE_UP_S = 5.0
_POLL_S = 0.02
_CLOCK_TOLERANCE_NS = 1_000_000
"""Difference in ns below which CLOCK_BOOTTIME and CLOCK_MONOTONIC count as equal, since they are read one after the other."""
_BUFFER_BYTES = 64 << 20
_PAGES = (64, 4096)
_BEAT = re.compile(rb"^beat 0 0 (\d+) (\d+) 0 0 0$", re.MULTILINE)
_LOST = re.compile(r"Lost (\d+) events")


@dataclass(frozen=True)
class Finished:
    """The end of a program of bpftrace."""

    ended_ns: int
    """The time up to which the output is whole, in ns of CLOCK_MONOTONIC."""
    clock_offset_ns: int
    """The number to subtract from time stamps to get CLOCK_MONOTONIC. They are in CLOCK_BOOTTIME, except with old kernels."""
    lost_printed: int
    """The number of lines that bpftrace lost."""


class BpftraceProcess:
    """A running bpftrace, whose program prints beats. It runs under setsid, so that Ctrl-C at a terminal reaches only this
    process, which then ends bpftrace by `stop` without losing events.
    """

    def __init__(
        self,
        name: str,
        script: str,
        raw: Path,
        logs: Path,
        cores: Sequence[int] | None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts bpftrace with the text of a program, and returns when its probes are attached.

        It writes its output to the file `raw`. `logs` gets its messages, under `name`.
        """
        self._raw, self._read, self._rest, self._beats = raw, 0, b"", dict[int, int]()
        path = raw.with_suffix(".bt")
        path.write_text(script, encoding="ascii")
        pages = _BUFFER_BYTES // os.sysconf("SC_PAGE_SIZE") // (os.cpu_count() or 1)
        own = {
            **os.environ,
            **(environment or {}),
            "BPFTRACE_PERF_RB_PAGES": str(1 << (min(max(pages, _PAGES[0]), _PAGES[1]).bit_length() - 1)),
        }
        command: list[str | Path] = ["setsid", *with_tracefs('exec bpftrace "$1" >"$2"', path, raw)]
        self._child = process.Child(name, command, logs, environment=own, cores=cores)
        try:
            self._until(lambda: bool(self._beats), _ATTACH_S, "attach its probes")
        except BaseException:
            self.kill()
            raise

    def stop(self, gives_up: Callable[[], bool] | None = None) -> Finished:
        """Waits until all events up to now are written, and ends bpftrace.

        If they cannot be written, TickdiskError is raised. With `gives_up`, the wait ends when that returns True, or when nothing
        more can be written. The written events are then kept.
        """
        boot, monotonic, last = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.monotonic_ns(), max(self._beats.values())
        suspended_ns = (
            boot - monotonic if abs(boot - last) < abs(monotonic - last) and boot - monotonic > _CLOCK_TOLERANCE_NS else 0
        )
        until = monotonic + suspended_ns
        cores = set(self._beats)

        def is_whole() -> bool:
            return all(self._beats[core] > until for core in cores)

        self._read_beats()
        try:
            self._until(
                lambda: is_whole() or (gives_up is not None and (gives_up() or shutil.disk_usage(self._raw.parent).free == 0)),
                _WRITE_S,
                "write its events",
            )
        except TickdiskError:
            if gives_up is None:
                raise
        code = self._child.stop(_WRITE_S if is_whole() else _GIVE_UP_S, signal.SIGINT)
        if code != 0 and is_whole():
            raise TickdiskError(f"bpftrace ended with exit code {code}; its last words: {self._child.tail(3)}")
        log = self._child.log_path.read_text(encoding="utf-8", errors="replace")
        return Finished(
            ended_ns=monotonic if is_whole() else min(self._beats.values()) - suspended_ns,
            clock_offset_ns=suspended_ns,
            lost_printed=sum(map(int, _LOST.findall(log))),
        )

    @property
    def pid(self) -> int:
        """The number of bpftrace's process, whose processor time is part of the cost of capturing."""
        return self._child.pid

    def kill(self) -> None:
        """Kills bpftrace, if it has not ended already. Events that it has not written yet are lost."""
        self._child.stop(5, signal.SIGKILL)

    def _until(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not done():
            if self._child.poll() is not None:
                raise TickdiskError(f"bpftrace ended before it could {what}; its last words: {self._child.tail(3)}")
            if time.monotonic() > deadline:
                raise TickdiskError(f"bpftrace did not {what} within {timeout_s:g} s; is the machine overloaded?")
            time.sleep(_POLL_S)
            self._read_beats()

    def _read_beats(self) -> None:
        """Reads the output since the last call, and keeps the time of the last beat of each core."""
        if self._raw.exists():
            with self._raw.open("rb") as file:
                file.seek(self._read)
                text = self._rest + file.read()
                self._read = file.tell()
            whole, newline, self._rest = text.rpartition(b"\n")
            self._beats |= {int(core): int(at) for at, core in _BEAT.findall(whole + newline)}
