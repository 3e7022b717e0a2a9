"""Sorts the waits of many threads once, and finds them by bisection. A lane has the waits of one thread."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.foundation.waiting import TimeKind

Integers = NDArray[np.int64]
KINDS = tuple(kind.value for kind in TimeKind if kind is not TimeKind.ABSENT)
"""Kinds of time that links have. The time in which a thread is absent counts as sleep."""
LOCK, SLEEP, RUNNING, UNKNOWN = (
    KINDS.index(kind) for kind in (TimeKind.LOCK, TimeKind.SLEEP, TimeKind.RUNNING, TimeKind.UNKNOWN)
)
NONE = -1
"""Stands in place of the number of a lane, a wait or a row if there is none."""


def spread(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """Lists all indices of the ranges [first, last), as (owner, index). An empty range has none.

    `index` has the indices, range after range, and `owner` has for each of them the number of its range.
    """
    count = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(count.size), count)
    return owner, first[owner] + np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)


@dataclass(frozen=True)
class Keys:
    """Combines lane and time into one integer that sorts by lane and then by time, so that one search covers all lanes.

    A lane is the place of a thread among all threads, from 0.
    """

    base_ns: int
    """The earliest time, in ns."""
    span_ns: int
    """Length in ns of the span of time that the keys cover."""

    def of(self, lane: Integers, at_ns: Integers) -> Integers:
        """Returns the integer for each lane and time. A time outside the span counts as the nearest end of the span."""
        key: Integers = lane * self.span_ns + np.clip(at_ns - self.base_ns, 0, self.span_ns - 1)
        return key


class ThreadWaits:
    """The waits of every thread, sorted so that the waits of a thread in a window of time are found quickly.

    A lane is the index of a thread in `threads`. The waits of one thread do not overlap, since overlaps are cut.
    """

    def __init__(self, waits: pd.DataFrame) -> None:
        start_ns, end_ns = waits["start_ns"].to_numpy(np.int64), waits["end_ns"].to_numpy(np.int64)
        self.threads, lane = np.unique(waits["thread"].to_numpy(np.int64), return_inverse=True)
        base_ns = int(start_ns.min()) if start_ns.size else 0
        self.keys = Keys(base_ns, int(end_ns.max(initial=base_ns)) - base_ns + 1)
        order = np.lexsort((start_ns, lane))
        starts, ends = (self.keys.of(lane[order], at_ns[order]) for at_ns in (start_ns, end_ns))
        # A thread waits for one thing at a time. Waits overlap only if events were lost. The later wait then begins when the
        # earlier one ends.
        begun = np.concatenate([starts[:1], np.maximum(starts[1:], np.maximum.accumulate(ends)[:-1])])
        self.contradictions = int((begun > starts).sum())
        kept = begun < ends
        self.rows: Integers = order[kept]
        """Row in the waits table of each wait, in the order of lane and time."""
        self._starts, self._ends = begun[kept], ends[kept]
        self.start_ns: Integers = self._starts - lane[self.rows] * self.keys.span_ns + base_ns
        self.end_ns: Integers = end_ns[self.rows]
        waker = waits["waker"].to_numpy(np.int64, na_value=NONE)
        absent = (waits["kind"] == TimeKind.ABSENT).to_numpy()
        kind = np.where(absent, SLEEP, pd.Index(KINDS).get_indexer(pd.Index(waits["kind"])))
        # A thread hands a lock over. A wait that no thread ended was therefore a wait for an event, which timed out.
        self.kind: Integers = np.where((kind == LOCK) & (waker == NONE), SLEEP, kind)[self.rows]
        self.waker: Integers = self.lane_of(waker)[self.rows]
        self._present = ~absent[self.rows]

    def lane_of(self, threads: Integers) -> Integers:
        """Returns the lane of each thread, given by its number, or NONE for a thread without waits."""
        if not self.threads.size:
            return np.full(threads.shape, NONE)
        at = np.searchsorted(self.threads, threads).clip(max=self.threads.size - 1)
        return np.where(self.threads[at] == threads, at, NONE)

    def seen_ns(self, lane: int) -> tuple[int, int]:
        """Returns in ns the start of the first wait and the end of the last wait of a thread, without times of absence.

        A thread is absent before it begins and after it ends. The thread must have another wait.
        """
        low, high = np.searchsorted(self._starts, [lane * self.keys.span_ns, (lane + 1) * self.keys.span_ns])
        present = low + np.flatnonzero(self._present[low:high])
        return int(self.start_ns[present[0]]), int(self.end_ns[present[-1]])

    def overlapping(self, lane: Integers, start_ns: Integers, end_ns: Integers) -> tuple[Integers, Integers]:
        """Returns (window, wait) for every pair of a window [start_ns, end_ns) of a lane and a wait of this lane that overlap.

        `window` is the index in the arguments, which have one element per window, and `wait` is the index in `start_ns`.
        """
        first = np.searchsorted(self._ends, self.keys.of(lane, start_ns), side="right")
        last = np.searchsorted(self._starts, self.keys.of(lane, end_ns), side="left")
        return spread(first, last)


@dataclass(frozen=True)
class Intervals:
    """Disjoint intervals in the order of time, such as those in which a thread waited for storage."""

    start_ns: Integers
    """Starts, shape (n,)."""
    end_ns: Integers
    """Ends, shape (n,). An end does not belong to its interval."""

    @classmethod
    def of(cls, start_ns: Integers, end_ns: Integers) -> Self:
        """Makes intervals of the union of others that may overlap, and that need no order."""
        if not start_ns.size:
            return cls(start_ns, end_ns)
        order = np.argsort(start_ns, kind="stable")
        start, end = start_ns[order], np.maximum.accumulate(end_ns[order])
        first = np.flatnonzero(np.concatenate([[True], start[1:] > end[:-1]]))
        return cls(start[first], end[np.append(first[1:], start.size) - 1])

    @classmethod
    def of_rows(cls, table: pd.DataFrame) -> Self:
        """Makes intervals of the union of those from start_ns to end_ns of each row."""
        return cls.of(table["start_ns"].to_numpy(np.int64), table["end_ns"].to_numpy(np.int64))

    def within(self, start_ns: Integers, end_ns: Integers) -> Integers:
        """Returns the number of ns that the intervals cover of every window [start_ns, end_ns), in the shape of the arguments."""
        return self._until(end_ns) - self._until(start_ns)

    def _until(self, at_ns: Integers) -> Integers:
        if not self.start_ns.size:
            return np.zeros(at_ns.shape, dtype=np.int64)
        whole = np.concatenate([[0], np.cumsum(self.end_ns - self.start_ns)])
        last = np.searchsorted(self.start_ns, at_ns, side="right") - 1
        covered: Integers = np.where(last < 0, 0, whole[last] + np.minimum(at_ns, self.end_ns[last]) - self.start_ns[last])
        return covered

    def without(self, other: "Intervals") -> "Intervals":
        """Returns as intervals the time that these intervals cover and the other ones do not."""
        edges = np.unique(np.concatenate([self.start_ns, self.end_ns, other.start_ns, other.end_ns]))
        start, end = edges[:-1], edges[1:]
        kept = (self.within(start, end) > 0) & (other.within(start, end) == 0)
        return Intervals.of(start[kept], end[kept])
