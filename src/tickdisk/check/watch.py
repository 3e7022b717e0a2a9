"""Watches a server for hours by the kernel's counters, and says when its ticks get late."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tickdisk.check.counters import pressure_us, ticking_thread
from tickdisk.check.disk import disk_of
from tickdisk.check.find import FoundServer
from tickdisk.check.price import processor_ns
from tickdisk.check.record import Minute
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity

LEAST_LATE = 3
"""So many late ticks in a minute are worth a check."""
_MINUTE_S, _PERIOD_S = 60.0, 0.02
_LOOKS = 25
"""After so many looks at the thread, the watch also looks whether it is to go on."""
_LATE_BUDGETS, _BUDGET_MS = 1.5, 50.0
_STORED, _RUNS = "D", "R"
_DISKSTATS = Path("/proc/diskstats")


def minutes(found: FoundServer, seconds: float, is_over: Callable[[], bool] = lambda: False) -> Iterator[Minute]:
    """Yields each minute of a server for so many seconds, or until it ends. A minute ends early when ticks get late.

    It also ends when `is_over`, which is asked twice a second, returns True. Raises TickdiskError if the process does not run.
    """
    process = ProcessIdentity.of(found.pid)
    if process is None:
        raise TickdiskError(f"process {found.pid} does not run; start it first")
    disk = disk_of(found.pid)
    ends_s = time.monotonic() + seconds

    def goes_on() -> bool:
        return process.alive() and not is_over()

    while goes_on() and (left_s := ends_s - time.monotonic()) > 0:
        if (minute := _minute(found, goes_on, disk, min(left_s, _MINUTE_S))) is not None:
            yield minute


@dataclass
class _Rests:
    """The times in which a thread did not rest, by looks at it one after another."""

    most_ms: float
    late: int = 0
    longest_ms: float = 0.0
    looks: int = 0
    stored: int = 0
    _before: tuple[str, int] | None = None
    _since_s: float | None = None

    def look(self, at_s: float, state: str, switches: int) -> None:
        """Takes down the state of the thread, and how often it has left its core by itself.

        It did not rest between two looks if it left its core only to wait for a disk, or not at all.
        """
        self.looks += 1
        self.stored += state == _STORED
        before, self._before = self._before, (state, switches)
        worked = before is not None and (_STORED in (state, before[0]) or (before == (_RUNS, switches) and state == _RUNS))
        if not worked:
            self.end(at_s)
            return
        if self._since_s is None:
            self._since_s = at_s - _PERIOD_S
        self.longest_ms = max(self.longest_ms, 1000 * (at_s - self._since_s))

    def end(self, at_s: float) -> None:
        """Ends a time without a rest, which the last look still saw."""
        if self._since_s is not None and 1000 * (at_s - _PERIOD_S - self._since_s) > self.most_ms:
            self.late += 1
        self._since_s = None


def _minute(found: FoundServer, goes_on: Callable[[], bool], disk: Path | None, seconds: float) -> Minute | None:
    """Looks at a server for up to so many seconds, or returns None if it ended at once."""
    thread, _ = ticking_thread(found)
    status = Path(f"/proc/{found.pid}/task/{thread}/status")
    rests = _Rests(_LATE_BUDGETS * (_BUDGET_MS if found.kind is None else found.kind.tick_ms))
    began_s, unix_s = time.monotonic(), time.time()
    used_ns, pressed_us, served = processor_ns(found.pid), pressure_us(), _served(disk)
    if used_ns is None:
        return None
    last_ns = used_ns
    for number in count():
        if time.monotonic() - began_s >= seconds or rests.late >= LEAST_LATE:
            break
        if number % _LOOKS == 0:
            if not goes_on():
                break
            last_ns = processor_ns(found.pid) or last_ns
        with suppress(OSError, IndexError, ValueError):  # The thread has ended.
            text = status.read_text(errors="replace")
            rests.look(time.monotonic(), _value(text, "State:"), int(_value(text, "\nvoluntary_ctxt_switches:")))
        time.sleep(_PERIOD_S)
    last_ns = processor_ns(found.pid) or last_ns
    ran_s = max(time.monotonic() - began_s, _PERIOD_S)
    rests.end(time.monotonic())
    after = _served(disk)
    return Minute(
        unix_s=unix_s,
        seconds=ran_s,
        late=rests.late,
        longest_ms=rests.longest_ms,
        waiting_share=rests.stored / max(rests.looks, 1),
        cores=(last_ns - used_ns) / 1e9 / ran_s,
        pressure_share=None if pressed_us is None else ((pressure_us() or pressed_us) - pressed_us) / 1e6 / ran_s,
        read_ms=_mean_ms(served, after, 0),
        write_ms=_mean_ms(served, after, 2),
    )


def _value(text: str, key: str) -> str:
    return text.split(key, 1)[1].split(None, 1)[0]


def _served(disk: Path | None) -> list[int] | None:
    """Returns reads, their time in ms, writes and their time, of a disk since the machine began, see proc(5)."""
    if disk is None:
        return None
    name = str(disk.relative_to("/dev"))
    with suppress(OSError):
        for line in _DISKSTATS.read_text().splitlines():
            words = line.split()
            if words[2] == name:
                return [int(words[at]) for at in (3, 6, 7, 10)]
    return None


def _mean_ms(before: list[int] | None, after: list[int] | None, at: int) -> float | None:
    if before is None or after is None or after[at] == before[at]:
        return None
    return (after[at + 1] - before[at + 1]) / (after[at] - before[at])
