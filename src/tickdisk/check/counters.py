"""Looks at a server by the kernel's counters alone, where nothing can capture it."""

import time
from collections.abc import Callable
from pathlib import Path

from tickdisk.check.find import FoundServer, ticking_thread
from tickdisk.check.look import Now
from tickdisk.check.price import Phase, processor_ns
from tickdisk.check.record import Counters, Instrument, Verdict
from tickdisk.check.rests import PERIOD_S, Rests
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity


def counted(found: FoundServer, seconds: float, show: Callable[[Now], None], lack: str, named: str | None = None) -> Verdict:
    """Looks at a server for so many seconds. `lack` says what is not seen, and why. `named` is the thread that ticks, if known.

    The state of the thread that ticks is read fifty times a second. Raises TickdiskError if the process does not run.
    """
    process = ProcessIdentity.of(found.pid)
    if process is None:
        raise TickdiskError(f"process {found.pid} does not run; start it first")
    thread, name = ticking_thread(found, named)
    rests = Rests.of(found)
    is_told = found.has_tick_thread or named is not None
    before, used_ns, began_s = _bytes(found.pid), processor_ns(found.pid) or 0, time.monotonic()
    last_ns, after = used_ns, before
    pressed_us = pressure_us()
    cut: tuple[str, ...] = ()
    while (ran_s := time.monotonic() - began_s) < seconds:
        now_ns = processor_ns(found.pid)
        if now_ns is None or not process.alive():
            cut = (f"process {found.pid} ended",)
            break
        last_ns, after = now_ns, _bytes(found.pid)
        if not rests.look_at(found.pid, thread):  # The thread has ended, and the process goes on.
            thread, name = ticking_thread(found)
        try:
            cores = (last_ns - used_ns) / 1e9 / max(ran_s, PERIOD_S)
            show(Now(ran_s, seconds, Phase.COUNTED, cores, rests if is_told else None))
        except KeyboardInterrupt:
            cut = ("the rest of the check, which Ctrl-C ended",)
            break
        time.sleep(PERIOD_S)
    ran_s = time.monotonic() - began_s
    rests.end(time.monotonic())
    counters = Counters(
        late=len(rests.late_ms) if is_told else None,
        longest_ms=rests.longest_ms,
        waiting_share=rests.stored / max(rests.looks, 1),
        cores=(last_ns - used_ns) / 1e9 / ran_s,
        read_mb_per_s=None if before is None or after is None else (after[0] - before[0]) / 1e6 / ran_s,
        written_mb_per_s=None if before is None or after is None else (after[1] - before[1]) / 1e6 / ran_s,
        pressure_share=None if pressed_us is None else ((pressure_us() or pressed_us) - pressed_us) / 1e6 / ran_s,
    )
    return Verdict(
        server=found.title,
        kind="" if found.kind is None else found.kind.name,
        pid=found.pid,
        instrument=Instrument.COUNTERS,
        lacks=(*cut, lack),
        seconds=ran_s,
        thread=name,
        ticks=None,
        late_ms=0.0,
        storage_late_ms=0.0,
        causes=(),
        waits=(),
        moments=(),
        needed=None,
        disk=None,
        forecasts=(),
        held=(),
        price=None,
        counters=counters,
        advice=(),
    )


def _bytes(pid: int) -> tuple[int, int] | None:
    """Returns the bytes that a process has read from storage and written to it, or None if this user may not see that."""
    try:
        text = Path(f"/proc/{pid}/io").read_text()
    except OSError:
        return None
    values = dict(line.split(": ") for line in text.splitlines())
    return int(values["read_bytes"]), int(values["write_bytes"])


def pressure_us() -> int | None:
    """Returns the time in us in which some task of the machine waited for storage, or None if the kernel does not say."""
    try:
        line = Path("/proc/pressure/io").read_text().splitlines()[0]
    except OSError:
        return None
    return int(line.rpartition("total=")[2])
