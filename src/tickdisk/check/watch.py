"""Watches a server for hours by the kernel's counters, and says when its ticks get late."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from tickdisk.check.counters import pressure_us
from tickdisk.check.disk import disk_of
from tickdisk.check.find import FoundServer, ticking_thread
from tickdisk.check.price import processor_ns
from tickdisk.check.record import Minute
from tickdisk.check.rests import PERIOD_S, Rests
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity

LEAST_LATE = 3
"""So many late ticks in a minute are worth a check."""
_MINUTE_S = 60.0
_LOOKS = 25
"""After so many looks at the thread, the watch also looks whether it is to go on."""
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


def _minute(found: FoundServer, goes_on: Callable[[], bool], disk: Path | None, seconds: float) -> Minute | None:
    """Looks at a server for up to so many seconds, or returns None if it ended at once."""
    thread, _ = ticking_thread(found)
    rests = Rests.of(found)

    def late() -> int:
        return len(rests.late_ms) if found.has_tick_thread else 0

    began_s, unix_s = time.monotonic(), time.time()
    used_ns, pressed_us, served = processor_ns(found.pid), pressure_us(), _served(disk)
    if used_ns is None:
        return None
    last_ns = used_ns
    for number in count():
        if time.monotonic() - began_s >= seconds or late() >= LEAST_LATE:
            break
        if number % _LOOKS == 0:
            if not goes_on():
                break
            last_ns = processor_ns(found.pid) or last_ns
        rests.look_at(found.pid, thread)
        time.sleep(PERIOD_S)
    last_ns = processor_ns(found.pid) or last_ns
    ran_s = max(time.monotonic() - began_s, PERIOD_S)
    rests.end(time.monotonic())
    after = _served(disk)
    return Minute(
        unix_s=unix_s,
        seconds=ran_s,
        late=late(),
        longest_ms=rests.longest_ms,
        waiting_share=rests.stored / max(rests.looks, 1),
        cores=(last_ns - used_ns) / 1e9 / ran_s,
        pressure_share=None if pressed_us is None else ((pressure_us() or pressed_us) - pressed_us) / 1e6 / ran_s,
        read_ms=_mean_ms(served, after, 0),
        write_ms=_mean_ms(served, after, 2),
    )


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
