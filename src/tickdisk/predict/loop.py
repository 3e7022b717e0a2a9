"""Times a program on a device, with the server's loop and the locks that threads hold while they read.

How long a thread waits depends on when it begins to wait: a late loop leaves ticks out, and a lock may be taken or free. So the
steps of the thread that ticks are timed with the times of the other threads, then the other threads with its times, and so on
until both agree.
"""

from dataclasses import dataclass

import numpy as np

from tickdisk import device
from tickdisk.blame import Integers
from tickdisk.predict.writing import Written

_ROUNDS = 40
"""Largest number of times that a program is timed. If the times of the last two rounds differ, those of the last one count."""


@dataclass(frozen=True)
class Loop:
    """How a server ticks."""

    period_ns: int
    """Time between two ticks that are on time."""
    backlog: int
    """Most ticks that the server makes up for. The others never take place, so that later ticks come whole periods later."""


def timed(written: Written, model: device.DeviceModel, loop: Loop) -> tuple[Integers, bool]:
    """Computes when each step of a program is completed on a device, in ns. Also returns whether the last two rounds agree."""
    moved_ns = np.zeros(max(written.starts_ns.size, 1), np.int64)
    held_ns = np.zeros(written.path.size, np.int64)
    for _ in range(_ROUNDS):
        issued_ns, completed_ns = written.program.times(model, written.begin_ns, moved_ns, written.path, held_ns)
        after = _walked(written, issued_ns, completed_ns, loop)
        if (after[0] == moved_ns).all() and (after[1] == held_ns).all():
            return completed_ns, True
        moved_ns, held_ns = after
    return completed_ns, False


def _walked(written: Written, issued_ns: Integers, completed_ns: Integers, loop: Loop) -> tuple[Integers, Integers]:
    """Times the steps of the thread that ticks once more, with the times of its requests and of the holders of its lock.

    Returns for each tick how much later its timer ends than in the capture, and for each step how long it waits for others.
    """
    starts = written.starts_ns.tolist()
    holders = written.holding[np.argsort(issued_ns[written.holding], kind="stable")]
    # Holds of several readers may overlap. The lock is free when all that began before have ended.
    held_from, held_until = issued_ns[holders], np.maximum.accumulate(completed_ns[holders])
    lasted = completed_ns - issued_ns
    took = lasted[written.path].tolist()
    moved = [0] * max(len(starts), 1)
    held = [0] * written.path.size
    now_ns, gap, moved_ns, started_ns, number = written.begin_ns, 0, 0, written.begin_ns, 0
    ticks = written.ticks.tolist()
    for place, (step, due_ns, alarm) in enumerate(zip(written.path.tolist(), written.dues, written.alarms, strict=True)):
        if alarm is not None:
            if alarm.gap is not None and alarm.gap > gap:
                late_ns = started_ns - starts[alarm.gap] - moved_ns - (loop.backlog - 1) * loop.period_ns
                moved_ns += max(0, -(-late_ns // loop.period_ns)) * loop.period_ns
                moved[gap + 1 : alarm.gap + 1] = [moved_ns] * (alarm.gap - gap)
                gap = alarm.gap
            now_ns = max(now_ns, alarm.at_ns + moved_ns)
        now_ns += due_ns
        if makers := written.lent.get(place):
            held[place] = int(lasted[makers].max())
            now_ns += held[place]
        if alarm is not None and held_from.size:
            holder = int(np.searchsorted(held_from, now_ns, side="right")) - 1
            held[place] = max(0, int(held_until[holder]) - now_ns) if holder >= 0 else 0
            now_ns += held[place]
        now_ns += took[place]
        if number < len(ticks) and ticks[number] == step:
            started_ns, number = now_ns, number + 1
            if number - 1 > gap:
                moved[gap + 1 : number] = [moved_ns] * (number - 1 - gap)
                gap = number - 1
    moved[gap + 1 :] = [moved_ns] * (len(moved) - gap - 1)
    return np.array(moved, np.int64), np.array(held, np.int64)
