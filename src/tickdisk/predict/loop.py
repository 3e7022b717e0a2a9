"""Times a program on a device, and moves the timers of the ticks as the server's loop does when a tick is late."""

import numpy as np

from tickdisk import device
from tickdisk.blame import Integers
from tickdisk.predict.writing import Written

_ROUNDS = 200
"""Most times that a program is timed. Each settles the timers after at least one more late tick."""


def timed(written: Written, model: device.DeviceModel, *, period_ns: int, backlog: int) -> Integers:
    """Computes when each step of a program is completed on a device, in ns.

    Ticks begin on a grid of `period_ns`. A loop makes up for at most `backlog` ticks that were due while it was late. The other
    ticks never take place, so that the ticks after them come whole periods later.
    """
    moved_ns = np.zeros(max(written.starts_ns.size, 1), np.int64)
    for _ in range(_ROUNDS):
        completed_ns = written.program.times(model, written.begin_ns, moved_ns)
        after_ns = _moved(written, completed_ns[written.ticks], period_ns, backlog)
        if (after_ns == moved_ns).all():
            break
        moved_ns = after_ns
    return completed_ns


def _moved(written: Written, started_ns: Integers, period_ns: int, backlog: int) -> Integers:
    """Returns for each tick how much later its timer ends than in the capture: whole periods, which never become fewer."""
    due_ns = written.starts_ns
    late_ns = started_ns[:-1] - due_ns[1:] - (backlog - 1) * period_ns
    wanted = np.where(written.is_timed[1:], -(-late_ns // period_ns) * period_ns, 0)
    return np.maximum.accumulate(np.concatenate([[0], np.maximum(wanted, 0)]))
