"""Finds flushes, in which a program writes at once what it has kept back, and says which share of the writes is delayed so."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.characterise.load import Load
from tickdisk.characterise.times import BINS, stretch_of

_TIMES_AVERAGE = 4.0
_FEWEST = 5
"""Least number of writes in a flush."""
_APART = 3
"""Number of quiet bins that end a flush."""


@dataclass(frozen=True)
class FlushPolicy:
    """The flushes of a load, in which written data reach the storage, and the share of the data that wait for them."""

    table: pd.DataFrame
    """One row per flush: at_s (its start), seconds, writes and bytes."""
    share_delayed: float
    """Share of the written bytes that are written in flushes. The others are written immediately."""
    interval_s: float
    """Median time in s from the start of a flush to the start of the next. NaN for fewer than two flushes."""
    writes_per_s: float
    """Writes per second while a flush writes, over all flushes. NaN without one."""

    @property
    def flushes(self) -> int:
        """Number of flushes."""
        return len(self.table)


def flush_policy(load: Load) -> FlushPolicy:
    """Finds the flushes of a load by its rate of writes.

    The time is divided into 2,048 bins. A flush is a run of bins with more than four times the average bytes written per bin, and
    at least five writes, in which up to two quiet bins may lie. This rule is ours: PokeSto describes such policies in words only.
    Raises TickdiskError if the trace has no times or no sizes.
    """
    rows = load.having("at_ns", "bytes")
    whole_ns = float(rows["at_ns"].max())
    writes = rows[rows["op"] == "write"]
    none = pd.DataFrame(columns=["at_s", "seconds", "writes", "bytes"], dtype=float)
    if writes.empty or whole_ns <= 0:
        return FlushPolicy(none, 0.0, np.nan, np.nan)
    bins = stretch_of(writes["at_ns"].to_numpy(), whole_ns, BINS)
    sizes = writes["bytes"].to_numpy()
    written, counts = np.bincount(bins, sizes, BINS), np.bincount(bins, minlength=BINS)
    busy = np.flatnonzero((written > _TIMES_AVERAGE * written.mean()) & (counts >= _FEWEST))
    if len(busy) == 0:
        return FlushPolicy(none, 0.0, np.nan, np.nan)
    starts = np.flatnonzero(np.diff(busy, prepend=-BINS) > _APART)
    ends = np.append(starts[1:], len(busy))
    flushes = []
    for start, end in zip(starts, ends, strict=True):
        first, last = busy[start], busy[end - 1]
        inside = (bins >= first) & (bins <= last)
        at_ns = writes["at_ns"].to_numpy()[inside]
        seconds = max(float(at_ns[-1] - at_ns[0]) / 1e9, whole_ns / BINS / 1e9)
        flushes.append({"at_s": at_ns[0] / 1e9, "seconds": seconds, "writes": len(at_ns), "bytes": float(sizes[inside].sum())})
    table = pd.DataFrame(flushes)
    interval_s = float(table["at_s"].diff().median()) if len(table) > 1 else np.nan
    rate = float(table["writes"].sum() / table["seconds"].sum())
    return FlushPolicy(table, float(table["bytes"].sum() / max(sizes.sum(), 1.0)), interval_s, rate)
