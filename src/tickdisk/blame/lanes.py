"""Waits of many threads, sorted once and found by bisection: a lane is a thread's."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Integers = NDArray[np.int64]
KINDS = ("io", "lock", "run_queue", "sleep", "running", "unknown")
"""Where time goes: the four kinds of waits; running; and what the holder of a lock did that was not captured. The time in which a
thread is absent counts as sleep."""
IO, LOCK, RUN_QUEUE, SLEEP, RUNNING, UNKNOWN = range(len(KINDS))
NONE = -1


def spread(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """Returns (owner, index): every index of the ranges [first, last), in order, and the number of the range it is from."""
    count = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(count.size), count)
    return owner, first[owner] + np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)


@dataclass(frozen=True)
class Keys:
    """(lane, time) as one integer that sorts by lane, then time, so that all lanes are searched at once."""

    base_ns: int
    span_ns: int

    def of(self, lane: Integers, at_ns: Integers) -> Integers:
        """Returns the keys; times outside the span count as its ends."""
        key: Integers = lane * self.span_ns + np.clip(at_ns - self.base_ns, 0, self.span_ns - 1)
        return key


class Lanes:
    """The waits of every thread, disjoint within each; `overlapping` finds those that overlap given windows."""

    def __init__(self, waits: pd.DataFrame) -> None:
        start_ns, end_ns = waits["start_ns"].to_numpy(np.int64), waits["end_ns"].to_numpy(np.int64)
        self.threads, lane = np.unique(waits["thread"].to_numpy(np.int64), return_inverse=True)
        base_ns = int(start_ns.min()) if start_ns.size else 0
        self.keys = Keys(base_ns, int(end_ns.max(initial=base_ns)) - base_ns + 1)
        order = np.lexsort((start_ns, lane))
        starts, ends = (self.keys.of(lane[order], at_ns[order]) for at_ns in (start_ns, end_ns))
        # A thread waits for one thing at a time: where events were lost the later wait begins when the earlier one ends.
        begun = np.concatenate([starts[:1], np.maximum(starts[1:], np.maximum.accumulate(ends)[:-1])])
        self.contradictions = int((begun > starts).sum())
        kept = begun < ends
        self.rows: Integers = order[kept]
        """Row in the waits table of every wait, in order of lane and time."""
        self._starts, self._ends = begun[kept], ends[kept]
        self.start_ns: Integers = self._starts - lane[self.rows] * self.keys.span_ns + base_ns
        self.end_ns: Integers = end_ns[self.rows]
        waker = waits["waker"].to_numpy(np.int64, na_value=NONE)
        absent = (waits["kind"] == "absent").to_numpy()
        kind = np.where(absent, SLEEP, pd.Index(KINDS).get_indexer(pd.Index(waits["kind"])))
        # A lock is handed over by a thread; what nobody ended was a wait for an event that timed out.
        self.kind: Integers = np.where((kind == LOCK) & (waker == NONE), SLEEP, kind)[self.rows]
        self.waker: Integers = self.lane_of(waker)[self.rows]
        self._present = ~absent[self.rows]

    def lane_of(self, threads: Integers) -> Integers:
        """Returns the lane of each thread id, NONE for one that has no wait."""
        if not self.threads.size:
            return np.full(threads.shape, NONE)
        at = np.searchsorted(self.threads, threads).clip(max=self.threads.size - 1)
        return np.where(self.threads[at] == threads, at, NONE)

    def seen_ns(self, lane: int) -> tuple[int, int]:
        """Returns from the start of a thread's first wait to the end of its last one; the time without it does not count."""
        low, high = np.searchsorted(self._starts, [lane * self.keys.span_ns, (lane + 1) * self.keys.span_ns])
        own = low + np.flatnonzero(self._present[low:high])
        return int(self.start_ns[own[0]]), int(self.end_ns[own[-1]])

    def overlapping(self, lane: Integers, start_ns: Integers, end_ns: Integers) -> tuple[Integers, Integers]:
        """Returns (window, wait): every pair of a window [start_ns, end_ns) of a lane and a wait of that lane that overlap."""
        first = np.searchsorted(self._ends, self.keys.of(lane, start_ns), side="right")
        last = np.searchsorted(self._starts, self.keys.of(lane, end_ns), side="left")
        return spread(first, last)


@dataclass(frozen=True)
class Cover:
    """Disjoint intervals in order; `within` says how much of each window they cover."""

    start_ns: Integers
    end_ns: Integers

    @classmethod
    def of(cls, start_ns: Integers, end_ns: Integers) -> Self:
        """Returns the union of intervals that may overlap."""
        if not start_ns.size:
            return cls(start_ns, end_ns)
        order = np.argsort(start_ns, kind="stable")
        start, end = start_ns[order], np.maximum.accumulate(end_ns[order])
        first = np.flatnonzero(np.concatenate([[True], start[1:] > end[:-1]]))
        return cls(start[first], end[np.append(first[1:], start.size) - 1])

    def within(self, start_ns: Integers, end_ns: Integers) -> Integers:
        """Returns the covered ns of every window [start_ns, end_ns)."""
        return self._until(end_ns) - self._until(start_ns)

    def _until(self, at_ns: Integers) -> Integers:
        if not self.start_ns.size:
            return np.zeros(at_ns.shape, dtype=np.int64)
        whole = np.concatenate([[0], np.cumsum(self.end_ns - self.start_ns)])
        last = np.searchsorted(self.start_ns, at_ns, side="right") - 1
        covered: Integers = np.where(last < 0, 0, whole[last] + np.minimum(at_ns, self.end_ns[last]) - self.start_ns[last])
        return covered

    def without(self, other: "Cover") -> "Cover":
        """Returns what is covered here and not there."""
        edges = np.unique(np.concatenate([self.start_ns, self.end_ns, other.start_ns, other.end_ns]))
        start, end = edges[:-1], edges[1:]
        kept = (self.within(start, end) > 0) & (other.within(start, end) == 0)
        return Cover.of(start[kept], end[kept])
