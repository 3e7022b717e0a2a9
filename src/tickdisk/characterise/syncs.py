"""Describes the requests in which a program waits until what it wrote is stored: fsync and its like, and a device's flushes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.characterise.amounts import quantile
from tickdisk.characterise.load import Load
from tickdisk.foundation.errors import TickdiskError


@dataclass(frozen=True)
class Syncs:
    """The syncs of a load, and the time that they take."""

    table: pd.DataFrame
    """One row per call, those with the most time first, and one for all: call, requests, and total_ms, p50_ms, p99_ms and most_ms
    of their latencies. A time is NaN if the trace does not tell it, or if a percentile would need more requests.
    """
    share_of_time: float
    """Share of the time from the first request to the end of the last in which at least one sync is in progress."""

    @property
    def total_ms(self) -> float:
        """Sum of all latencies in ms."""
        return float(self.table["total_ms"].iloc[-1])


def syncs(load: Load) -> Syncs:
    """Describes the syncs of a load. Raises TickdiskError if the trace has none."""
    rows = load.syncs
    if rows.empty:
        raise TickdiskError("not in the trace: syncs, such as fsync or a flush of the device")
    calls = [_row(str(call), of_call) for call, of_call in rows.groupby("call")]
    table = pd.DataFrame(calls).sort_values("total_ms", ascending=False)
    if len(calls) > 1:
        table = pd.concat([table, pd.DataFrame([_row("all", rows)])])
    return Syncs(table.reset_index(drop=True), _share_of_time(load))


def _row(call: str, rows: pd.DataFrame) -> dict[str, str | float]:
    ms = rows["latency_ns"].dropna().to_numpy() / 1e6
    return {
        "call": call,
        "requests": len(rows),
        "total_ms": float(ms.sum()) if len(ms) else np.nan,
        "p50_ms": quantile(ms, 0.5),
        "p99_ms": quantile(ms, 0.99),
        "most_ms": float(ms.max()) if len(ms) else np.nan,
    }


def _share_of_time(load: Load) -> float:
    known = load.syncs.dropna(subset=["at_ns", "latency_ns"]).sort_values("at_ns")
    every = pd.concat([load.moves[["at_ns", "latency_ns"]], load.syncs[["at_ns", "latency_ns"]]])
    ends = every["at_ns"] + every["latency_ns"].fillna(0)
    whole_ns = float(ends.max() - every["at_ns"].min())
    if known.empty or not whole_ns > 0:
        return np.nan
    begin, end = known["at_ns"].to_numpy(), (known["at_ns"] + known["latency_ns"]).to_numpy()
    reached = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
    return float(np.maximum(end - np.maximum(begin, reached), 0).sum()) / whole_ns
