"""Follows the waits of one thread through locks to what the holders of the locks did meanwhile."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.blame.lanes import KINDS, LOCK, NONE, RUNNING, UNKNOWN, Integers, ThreadWaits

DEEPEST = 8
"""Greatest number of locks, one behind another, that are followed."""


@dataclass(frozen=True)
class _Level:
    """The windows that are to be explained at one depth, one per row. Each is a time in which one thread was waited for."""

    window: Integers
    """Number of the window of the first thread to which the row belongs."""
    parent: Integers
    """Row of the link that this row explains."""
    paths: Integers
    """Indices of threads from the first thread to the thread of the row, shape (rows, depth + 1)."""
    start_ns: Integers
    end_ns: Integers

    def links(
        self, of: Integers, wait: Integers, kind: Integers, start_ns: Integers, end_ns: Integers, ns: Integers
    ) -> pd.DataFrame:
        """Returns links that explain the rows `of`, each with the given wait, kind and time."""
        columns = {"window": self.window[of], "parent": self.parent[of], "lane": self.paths[of, -1], "wait": wait, "kind": kind}
        depth = np.full(of.shape, self.paths.shape[1] - 1)
        return pd.DataFrame(columns | {"depth": depth, "start_ns": start_ns, "end_ns": end_ns, "ns": ns}, dtype=np.int64)


def follow(lanes: ThreadWaits, lane: int, start_ns: Integers, end_ns: Integers) -> pd.DataFrame:
    """Returns a tree of links that explains every nanosecond of each window [start_ns, end_ns) of a thread.

    These are the columns:

    - window: the number of the window.
    - depth: the number of locks between the thread and the link. It is 0 for the thread itself.
    - parent: the row of the wait for a lock that the link explains, or -1 at depth 0.
    - lane: the thread of the link, or -1 if it is not known.
    - kind: one of KINDS.
    - start_ns, end_ns: the time of the link within its parent. All time that a thread ran within its parent is one link, which
      has the start and end of the parent.
    - ns: the duration.
    - wait: the number of the wait in `lanes`, or -1 if the link is not a wait.

    The durations of the links that do not wait for a lock add up to the window. The durations of the links with the same parent
    add up to the parent.

    The holder of a lock is the thread that woke the waiter. Locks are handed over in the order of arrival. The holder therefore
    waited for earlier holders itself, and these appear one level deeper. The kind is `unknown` if the holder was not captured, if
    it waits for a thread that waits for it, or if it is more than DEEPEST locks deep.
    """
    number = np.arange(start_ns.size)
    level = _Level(number, np.full(number.shape, NONE), np.full((number.size, 1), lane), start_ns, end_ns)
    parts: list[pd.DataFrame] = []
    while level.window.size:
        at, before = level.paths[:, -1], sum(map(len, parts))
        captured = np.flatnonzero(at != NONE)
        of, wait = lanes.overlapping(at[captured], level.start_ns[captured], level.end_ns[captured])
        of = captured[of]
        begin, end = np.maximum(lanes.start_ns[wait], level.start_ns[of]), np.minimum(lanes.end_ns[wait], level.end_ns[of])
        parts.append(level.links(of, wait, lanes.kind[wait], begin, end, end - begin))
        waited = np.bincount(of, weights=end - begin, minlength=at.size).astype(np.int64)
        rest_ns = level.end_ns - level.start_ns - waited
        rest = np.flatnonzero(rest_ns)
        kind = np.where(at[rest] == NONE, UNKNOWN, RUNNING)
        parts.append(level.links(rest, np.full(rest.shape, NONE), kind, level.start_ns[rest], level.end_ns[rest], rest_ns[rest]))
        locks = np.flatnonzero(lanes.kind[wait] == LOCK)
        paths, holder = level.paths[of[locks]], lanes.waker[wait[locks]]
        dead_end = (paths == holder[:, None]).any(axis=1) | (paths.shape[1] > DEEPEST)
        paths = np.column_stack([paths, np.where(dead_end, NONE, holder)])
        level = _Level(level.window[of[locks]], before + locks, paths, begin[locks], end[locks])
    links = pd.concat(parts, ignore_index=True)
    links["kind"] = np.array(KINDS)[links["kind"].to_numpy()]
    return links
