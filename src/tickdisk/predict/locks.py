"""Finds why the thread that ticks waited behind locks: for block requests of others, for an event, or for computing of others."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tickdisk.blame import LOCK, NONE, Integers, ThreadWaits, follow
from tickdisk.foundation.waiting import TimeKind
from tickdisk.predict.requests import Requests, Wave

_OFTEN = 5
"""Smallest number of waits behind the reads of a thread from which it counts as a holder of a lock in all of its reads."""
_LEAST_INSIDE = 0.5
"""A request belongs to a wait if at least this share of the request's time in the device lies in the wait.

A request may have begun before the wait, and the rest of it is longer on a slower disk, too. It counts whole or not at all, which
is right on average."""


@dataclass(frozen=True)
class Behind:
    """The reason of a wait for another thread."""

    waves: tuple[Wave, ...]
    """Block requests of the holder, or of those that the holder waited for in turn, in the order of time."""
    is_event: bool
    """Whether the other thread slept meanwhile, so that both waited for the same event."""
    recreated_ns: int = 0
    """Part of the wait, in ns, in which a holder read. It is computed again for another device."""


@dataclass(frozen=True)
class Locks:
    """The waits of a thread behind locks, and the holders of a lock that the thread takes again and again."""

    behind: Mapping[int, Behind]
    """The reason of each wait, by its row."""
    holders: frozenset[int]
    """Threads that hold the lock whenever they read. Waits for them follow from the times of their reads, so that `behind` has
    none."""


def behind_locks(lanes: ThreadWaits, lane: int, window_ns: tuple[int, int], requests: Requests, *, parks: bool) -> Locks:
    """Finds the reasons of the waits of a thread for others, in a window of time.

    A wait lasts as long as what the holder did meanwhile, however far the holder has come with its other work. If the thread
    waited often behind the reads of a holder, the holder has the lock in all of its reads, also in those during which no thread
    wanted it. `parks` says that idle threads of the server wait as if for a lock. Then no such holder can be told.
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
