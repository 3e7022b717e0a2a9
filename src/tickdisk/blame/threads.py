"""The threads of a capture: how busy each was, and whether it runs a loop with a period, as a thread that ticks does."""

import numpy as np
import pandas as pd

from tickdisk.blame.evidence import Evidence
from tickdisk.blame.lanes import Cover

_BIN_NS = 1_000_000
_SHORTEST, _LONGEST = 8, 1000
"""Periods that are looked for, in bins of 1 ms."""
_SMOOTHED = 5
"""A turn of a loop comes a little earlier or later: likeness is a mean over so many lags."""
_ALIKE = 0.2
"""A loop has a period if its activity is more like itself a period later than in between, by so much of its variance."""
_AS_GOOD = 0.8
"""A multiple of a period correlates as well: the shortest is taken that is nearly as good as the best."""
_FEWEST_PERIODS = 5


def threads(evidence: Evidence) -> pd.DataFrame:
    """Returns one row a thread, those with a period first, and among these the busiest first.

    Columns: thread, name (its last), seen_ns (from its first wait to its last one), computing_ns, io_ns, lock_ns, run_queue_ns,
    busy_ns (computing or waiting for a core: whoever waits for a disk or for another thread has nothing to do), period_ns (NaN
    without one).
    """
    rows = [
        _thread(int(str(number)), own.sort_values("start_ns"))
        for number, own in evidence.waits[evidence.waits["kind"] != "absent"].groupby("thread")
    ]
    columns = ["thread", "name", "seen_ns", "computing_ns", "io_ns", "lock_ns", "run_queue_ns", "busy_ns", "period_ns"]
    table = pd.DataFrame(rows, columns=columns)
    order = ["has_period", "busy_ns", "thread"]
    ranked = table.assign(has_period=table["period_ns"].notna()).sort_values(order, ascending=[False, False, True])
    return ranked[columns].reset_index(drop=True)


def _thread(number: int, waits: pd.DataFrame) -> tuple[int, str, int, int, int, int, int, int, float]:
    start_ns, end_ns = int(waits["start_ns"].iloc[0]), int(waits["end_ns"].max())
    covers = {kind: _cover(waits[waits["kind"] == kind]) for kind in ("io", "lock", "run_queue", "sleep")}
    edge, end = np.array([start_ns]), np.array([end_ns])
    ns = {kind: int(cover.within(edge, end)[0]) for kind, cover in covers.items()}
    seen_ns = end_ns - start_ns
    computing_ns = max(0, seen_ns - sum(ns.values()))
    busy_ns = computing_ns + ns["run_queue"]
    name = str(waits["thread_name"].iloc[-1])
    # A loop may wait for its next turn at a condition variable, which looks like a lock.
    period = _period_ns(_cover(waits[waits["kind"].isin(["sleep", "lock"])]), start_ns, end_ns)
    return number, name, seen_ns, computing_ns, ns["io"], ns["lock"], ns["run_queue"], busy_ns, period


def _cover(waits: pd.DataFrame) -> Cover:
    return Cover.of(waits["start_ns"].to_numpy(np.int64), waits["end_ns"].to_numpy(np.int64))


def _period_ns(idle: Cover, start_ns: int, end_ns: int) -> float:
    """Returns the lag at which being active is most like itself; NaN if it is like itself at none.

    The autocorrelation is that of the share of each ms in which the thread was active, by the theorem of Wiener and Khinchin.
    """
    edges = np.arange(start_ns, end_ns, _BIN_NS)
    longest = min(_LONGEST, len(edges) // _FEWEST_PERIODS)
    if longest <= _SHORTEST + 2:
        return float("nan")
    active = 1 - idle.within(edges[:-1], edges[1:]) / _BIN_NS
    centred = active - active.mean()
    power = float(centred @ centred)
    if power <= 0:
        return float("nan")
    spectrum = np.fft.rfft(centred, 2 * len(centred))
    likeness = np.fft.irfft(np.abs(spectrum) ** 2)[: longest + _SMOOTHED] / power
    likeness = np.convolve(likeness, np.full(_SMOOTHED, 1 / _SMOOTHED), mode="same")
    rise = likeness[_SHORTEST:longest] - np.minimum.accumulate(likeness[_SHORTEST:longest])
    lags = np.arange(_SHORTEST + 1, longest - 1)
    peaks = lags[(likeness[lags] >= likeness[lags - 1]) & (likeness[lags] > likeness[lags + 1])]
    peaks = peaks[rise[peaks - _SHORTEST] >= _ALIKE]
    if not peaks.size:
        return float("nan")
    good = peaks[rise[peaks - _SHORTEST] >= _AS_GOOD * rise[peaks - _SHORTEST].max()]
    return float(good[0] * _BIN_NS)
