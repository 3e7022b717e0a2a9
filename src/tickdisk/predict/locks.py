"""Finds the reasons of waits behind locks: block requests of others, an event, or computing of others."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tickdisk.blame import LOCK, NONE, Integers, ThreadWaits, follow
from tickdisk.foundation.waiting import TimeKind
from tickdisk.predict.requests import Requests, Wave

_OFTEN = 5
"""Fewest waits behind reads of a thread that show that it holds a lock in all of its reads."""
_LEAST_INSIDE = 0.5
"""Least share of its time in the device by which a request must lie in a wait to belong to it.

On a slower disk, what is left of a request when the wait begins is longer, too. On average it comes to the same to take it whole
or not at all."""


@dataclass(frozen=True)
class Behind:
    """The reason of a wait for another thread."""

    waves: tuple[Wave, ...]
    """Block requests of the holder, or of those that the holder waited for in turn, in the order of time."""
    is_event: bool
    """Whether the other thread slept meanwhile, so that both waited for the same event."""
    recreated_ns: int = 0
    """Part of the wait in which a holder read, and which comes out of the times again."""


@dataclass(frozen=True)
class Locks:
    """The waits of a thread behind locks, and the holders of a lock that the thread takes again and again."""

    behind: Mapping[int, Behind]
    """The reason of each wait, by its row."""
    holders: frozenset[int]
    """Threads that hold the lock whenever they read. The times tell the waits for them, so that `behind` does not have those."""


def behind_locks(lanes: ThreadWaits, lane: int, window_ns: tuple[int, int], requests: Requests, *, parks: bool) -> Locks:
    """Finds the reasons of the waits of a thread for others, in a window of time.

    A lock is handed on when its holder has done what it did meanwhile, however far the holder has come with its other work. A
    thread behind whose reads the thread waited often holds the lock in all of its reads, also in those during which nobody came
    for it. If the threads of the server `parks`, waits do not tell such locks.
    """
    _, waits = lanes.overlapping(np.array([lane]), np.array([window_ns[0]]), np.array([window_ns[1]]))
    waits = waits[(lanes.kind[waits] == LOCK) & (lanes.waker[waits] != NONE)]
    found: dict[int, Behind] = {}
    holders = set[int]()
    for waker in np.unique(lanes.waker[waits]).tolist():
        behind = _behind(lanes, waker, waits[lanes.waker[waits] == waker], requests)
        if not parks and sum(bool(each.waves) for each in behind.values()) >= _OFTEN:
            holders.add(waker)
            behind = {row: _without_waves(each) for row, each in behind.items()}
        found |= behind
    return Locks(found, frozenset(holders))


def _without_waves(behind: Behind) -> Behind:
    read_ns = sum(wave.end_ns - wave.begin_ns for wave in behind.waves)
    return Behind((), behind.is_event and not behind.waves, read_ns)


def _behind(lanes: ThreadWaits, waker: int, waits: Integers, requests: Requests) -> Mapping[int, Behind]:
    links = follow(lanes, waker, lanes.start_ns[waits], lanes.end_ns[waits])
    storage = links[links["kind"] == TimeKind.IO].sort_values("start_ns", kind="stable")
    slept = set(links.loc[links["kind"] == TimeKind.SLEEP, "window"].tolist())
    waves: dict[int, list[Wave]] = {}
    for window, wait, start_ns, end_ns in storage[["window", "wait", "start_ns", "end_ns"]].itertuples(index=False):
        row = int(lanes.rows[wait])
        waves.setdefault(window, []).extend(_inside(requests, row, start_ns, end_ns))
    rows = lanes.rows[waits].tolist()
    return {row: Behind(tuple(waves.get(number, ())), number in slept) for number, row in enumerate(rows)}


def _inside(requests: Requests, wait: int, start_ns: int, end_ns: int) -> list[Wave]:
    """Returns the waves of a wait of the holder, with the requests of which enough lies in a stretch of time."""
    arrival, _, replied = requests.times
    found = []
    for wave in requests.waves_of(wait):
        rows = tuple(
            row
            for row in wave.rows
            if min(replied[row], end_ns) - max(arrival[row], start_ns) >= _LEAST_INSIDE * (replied[row] - arrival[row])
        )
        if rows:
            found.append(Wave(rows, max(wave.begin_ns, start_ns), wave.nominal_ns, min(wave.end_ns, end_ns)))
    return found
