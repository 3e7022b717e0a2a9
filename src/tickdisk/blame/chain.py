"""From the waits of one thread through the locks to what their holders did meanwhile."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.blame.lanes import KINDS, LOCK, NONE, RUNNING, UNKNOWN, Integers, Lanes

DEEPEST = 8
"""Locks behind locks that are followed."""


@dataclass(frozen=True)
class _Level:
    """Windows of threads to be explained, one a row: all at one depth."""

    window: Integers
    parent: Integers
    paths: Integers
    """Lanes from the first thread to the one that is looked at, shape (rows, depth + 1)."""
    start_ns: Integers
    end_ns: Integers

    def links(
        self, of: Integers, wait: Integers, kind: Integers, start_ns: Integers, end_ns: Integers, ns: Integers
    ) -> pd.DataFrame:
        """Returns links that explain the rows `of`."""
        columns = {"window": self.window[of], "parent": self.parent[of], "lane": self.paths[of, -1], "wait": wait, "kind": kind}
        depth = np.full(of.shape, self.paths.shape[1] - 1)
        return pd.DataFrame(columns | {"depth": depth, "start_ns": start_ns, "end_ns": end_ns, "ns": ns}, dtype=np.int64)


def follow(lanes: Lanes, lane: int, start_ns: Integers, end_ns: Integers) -> pd.DataFrame:
    """Returns the links of every window [start_ns, end_ns) of a thread, as a tree: where each nanosecond of it went.

    Columns: window (its number), depth (0: the thread itself), parent (row of the lock wait behind which the link lies, -1 at
    depth 0), lane (-1 unknown), kind (of KINDS), start_ns and end_ns (clipped to the parent; around all the running of a thread
    there), ns, wait (of `lanes`, -1 for none). Links that are no lock waits sum to the window, those below a lock wait to that
    wait.

    The holder is the thread that woke the waiter. Locks hand over in the order of arrival, so that whoever held it before was
    waited for by the holder, too, and comes out one level deeper. A holder that was not captured, or that waits for its own
    waiter, is `unknown`; so is what lies more than DEEPEST locks deep.
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
