"""Lists the threads of a capture, with the time that each was busy, and the period of its loop if it runs one.

A thread that ticks runs a loop with a period.
"""

import numpy as np
import pandas as pd

from tickdisk.blame.evidence import Evidence
from tickdisk.blame.lanes import Intervals

_BIN_NS = 1_000_000
_SHORTEST, _LONGEST = 8, 1000
"""Shortest and longest period that is searched, in bins of 1 ms."""
_SMOOTHED = 5
"""Number of lags over which the autocorrelation is averaged, since a turn of a loop may begin a little early or late."""
_LEAST_RISE = 0.2
"""Least rise of the autocorrelation, from its lowest value at shorter lags, that a peak needs to count as a period."""
_PEAK_SHARE = 0.8
"""Share of the highest rise that a period needs. The shortest such peak counts, since multiples of a period also correlate."""
_FEWEST_PERIODS = 5
"""Least number of periods that the observed time of a thread has to hold."""


def threads(evidence: Evidence) -> pd.DataFrame:
    """Returns one row per thread, with the threads that have a period first, and then the busiest first.

    The columns are thread, name (its last name), seen_ns (from its first wait to its last one), computing_ns, io_ns, lock_ns,
    run_queue_ns, busy_ns and period_ns (NaN without a period). A thread is busy while it computes or waits for a core, but not
    while it waits for storage or for another thread.
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
    # A loop may wait for its next turn at a condition variable, and such a wait looks like a wait for a lock.
    period = _period_ns(_cover(waits[waits["kind"].isin(["sleep", "lock"])]), start_ns, end_ns)
    return number, name, seen_ns, computing_ns, ns["io"], ns["lock"], ns["run_queue"], busy_ns, period


def _cover(waits: pd.DataFrame) -> Intervals:
    return Intervals.of(waits["start_ns"].to_numpy(np.int64), waits["end_ns"].to_numpy(np.int64))


def _period_ns(idle: Intervals, start_ns: int, end_ns: int) -> float:
    """Returns the period of a thread's activity, or NaN if there is none.

    The activity is the share of each millisecond in which the thread did not idle. Its autocorrelation is computed by the theorem
    of Wiener and Khinchin. The period is the shortest lag with a high peak of the autocorrelation.
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
    peaks = peaks[rise[peaks - _SHORTEST] >= _LEAST_RISE]
    if not peaks.size:
        return float("nan")
    good = peaks[rise[peaks - _SHORTEST] >= _PEAK_SHARE * rise[peaks - _SHORTEST].max()]
    return float(good[0] * _BIN_NS)
