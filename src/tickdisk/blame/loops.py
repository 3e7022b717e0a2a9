"""Recognises a thread that runs a loop with a period, and the start of each turn, from its waits.

A loop rests once in every turn, at a timer or until another thread wakes it, and the rest is longer than its other idle waits.
The starts of turns are therefore the ends of idle waits that are long enough. The least length is the one for which most times
between starts are alike. If they are not alike for any length, the thread runs no loop.

Another thread can pace a loop: it rests for a period and then says that a turn is due, and the thread that works begins the turn
when it next comes back from a rest. Luanti's thread `Server` also wakes for each packet, so that its own rests tell no turn.
A scheduler paces a loop in another way: it rests several times before a turn, each time for a part of what is left, and then
wakes the thread that works. Minestom's does (class TickSchedulerThread).
"""

from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pandas as pd

from tickdisk.blame.lanes import Integers
from tickdisk.foundation.waiting import TimeKind

_SHORTEST_NS, _LONGEST_NS = 12_000_000, 1_000_000_000
"""Shortest and longest period. Runtimes have threads of their own that wake up every 10 ms."""
_FEWEST_TURNS = 20
_ALIKE = 0.1
"""A time between two starts is like the period if it differs by less than this share of it."""
_LEAST_ALIKE = 0.75
"""Least share of the times between starts that are like the period."""
_LEAST_SEEN = 0.5
"""Least share of the observed time that as many periods as there are turns take up."""
_LEAST_ALIKE_KNOWN, _LEAST_SEEN_KNOWN = 0.2, 0.1
"""The same two shares for a loop whose period is known beforehand."""
_LONGER, _WORK_NS = 1.5, 3_000_000
"""A scheduler's rest begins a new turn if it is longer than the one before by this factor, or if it worked for longer than this
time in ns between them. Its rests before one turn become shorter and shorter."""
_SAME_TURN_NS = 8_000_000
"""Two signs of a turn that are not further apart than this are of the same turn. A scheduler also wakes the thread in a turn,
and such a wake-up is a sign of another turn only half a period after its start."""
_LENGTHS = np.linspace(0, 0.98, 50)
"""Quantiles of the lengths of idle waits, which are tried as the least length."""


@dataclass(frozen=True)
class ThreadLoop:
    """The loop that a thread runs. Its turns stand for ticks if the program does not tell its ticks."""

    period_ns: int
    """Median time in ns from the start of one turn to the start of the next."""
    starts_ns: Integers
    """Start of each turn, in ns, shape (n,). If a turn took so long that the thread did not rest, the next one belongs to it."""


def paced_loop(waits: pd.DataFrame, pacer: ThreadLoop) -> ThreadLoop | None:
    """Returns the loop that a thread runs at the pace of another thread, or None if it has too few turns.

    `waits` has the rows of the thread that works, in the order of time. A turn begins at the end of its first rest after the
    pacer has said that one is due. If the thread worked on through several of these times, they make one turn.
    """
    ends_ns = waits.loc[waits["kind"].isin([TimeKind.SLEEP, TimeKind.LOCK]), "end_ns"].to_numpy(np.int64)
    following = np.searchsorted(ends_ns, pacer.starts_ns)
    starts_ns = ends_ns[np.unique(following[following < ends_ns.size])]
    return ThreadLoop(pacer.period_ns, starts_ns) if starts_ns.size >= _FEWEST_TURNS else None


def scheduled_loop(waits: pd.DataFrame, scheduler: pd.DataFrame, period_ns: int) -> ThreadLoop | None:
    """Returns the loop that a thread runs when a scheduler wakes it, or None if that happens too seldom.

    `waits` and `scheduler` have the rows of the two threads in the order of time. A turn begins at the end of the last rest of
    the scheduler before it. If the scheduler did not rest between two turns, the second begins where it wakes the thread.
    """
    woken_ns = waits.loc[waits["waker"].isin(scheduler["thread"].unique()), "end_ns"].to_numpy(np.int64)
    if woken_ns.size < _FEWEST_TURNS:
        return None
    rests = scheduler[scheduler["kind"].isin([TimeKind.SLEEP, TimeKind.LOCK]) & scheduler["waker"].isna()]
    start_ns, end_ns = rests["start_ns"].to_numpy(np.int64), rests["end_ns"].to_numpy(np.int64)
    length_ns = end_ns - start_ns
    is_last = (length_ns[1:] > _LONGER * length_ns[:-1]) | (start_ns[1:] - end_ns[:-1] > _WORK_NS)
    signs = [(ns, _SAME_TURN_NS) for ns in end_ns[:-1][is_last].tolist()] + [(ns, period_ns // 2) for ns in woken_ns.tolist()]
    starts_ns: list[int] = []
    for ns, least_ns in sorted(signs):
        if not starts_ns or ns - starts_ns[-1] > least_ns:
            starts_ns.append(ns)
    return ThreadLoop(period_ns, np.array(starts_ns, np.int64))


def loop_of(waits: pd.DataFrame, seen_ns: int, period_ns: int | None = None) -> ThreadLoop | None:
    """Returns the loop with a period of 12 ms to 1 s that a thread runs, by its waits alone, or None if it runs none.

    `waits` has the thread's rows of the waits table in the order of time, and `seen_ns` is the time in ns from the first to the
    last. A loop may rest at a condition variable, and such a wait looks like a wait for a lock. If `period_ns` is given, the loop
    has that period, and more of its turns may be late.
    """
    least_seen, least_alike = (_LEAST_SEEN, _LEAST_ALIKE) if period_ns is None else (_LEAST_SEEN_KNOWN, _LEAST_ALIKE_KNOWN)
    idle = waits[waits["kind"].isin([TimeKind.SLEEP, TimeKind.LOCK])]
    ends_ns = idle["end_ns"].to_numpy(np.int64)
    lengths_ns = ends_ns - idle["start_ns"].to_numpy(np.int64)
    if not ends_ns.size:
        return None

    def turns(least_ns: float) -> tuple[float, ThreadLoop]:
        """Returns the share of the times between turns that are alike, or 0 if it is no loop, and the turns."""
        starts_ns = ends_ns[lengths_ns >= least_ns]
        gaps_ns = np.diff(starts_ns) if starts_ns.size >= _FEWEST_TURNS else np.zeros(1, np.int64)
        loop = ThreadLoop(int(np.median(gaps_ns)) if period_ns is None else period_ns, starts_ns)
        fits = _SHORTEST_NS <= loop.period_ns <= _LONGEST_NS and starts_ns.size * loop.period_ns >= least_seen * seen_ns
        return float(np.mean(np.abs(gaps_ns - loop.period_ns) < _ALIKE * loop.period_ns)) if fits else 0.0, loop

    coarse_ns = np.unique(np.quantile(lengths_ns, _LENGTHS))
    best = int(np.argmax([turns(least_ns)[0] for least_ns in coarse_ns]))
    # Between two quantiles may lie rests that are a little shorter.
    low_ns, high_ns = coarse_ns[max(best - 1, 0)], coarse_ns[best]
    fine_ns = np.unique(lengths_ns[(lengths_ns >= low_ns) & (lengths_ns <= high_ns)])
    share, loop = max((turns(least_ns) for least_ns in [*fine_ns, high_ns]), key=itemgetter(0))
    return loop if share >= least_alike else None
