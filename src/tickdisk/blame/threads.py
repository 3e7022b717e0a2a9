"""Lists the threads of a capture, with the time that each was busy, and the period of its loop if it runs one.

A thread that ticks runs a loop with a period.
"""

import numpy as np
import pandas as pd

from tickdisk.blame.evidence import CaptureEvidence
from tickdisk.blame.lanes import Intervals
from tickdisk.blame.loops import loop_of
from tickdisk.foundation.waiting import TimeKind

_WAITS = (TimeKind.IO, TimeKind.LOCK, TimeKind.RUN_QUEUE, TimeKind.SLEEP)
_LEAST_BUSY = 0.02
"""Least share of its time that a thread is busy if its loop is to count. Programs have loops that only look whether to end."""


def threads(evidence: CaptureEvidence) -> pd.DataFrame:
    """Lists the threads of a capture with what each did, so that the thread whose ticks are explained can be chosen.

    Threads that run a loop come first, and the busiest come first among them and among the others. The columns are thread (its
    number), name (the latest, as a thread can change its name), seen_ns (from its first wait to its last one), running_ns,
    io_ns, lock_ns, run_queue_ns, busy_ns and period_ns, which is the time of a turn of its loop, or NaN if it runs none. A thread
    is busy while it computes or waits for a core, but not while it waits for storage or for another thread.
    """
    rows = [
        _thread(int(str(number)), waits.sort_values("start_ns"))
        for number, waits in evidence.waits[evidence.waits["kind"] != TimeKind.ABSENT].groupby("thread")
    ]
    columns = ["thread", "name", "seen_ns", "running_ns", "io_ns", "lock_ns", "run_queue_ns", "busy_ns", "period_ns"]
    table = pd.DataFrame(rows, columns=columns)
    order = ["has_period", "busy_ns", "thread"]
    ranked = table.assign(has_period=table["period_ns"].notna()).sort_values(order, ascending=[False, False, True])
    return ranked[columns].reset_index(drop=True)


def _thread(number: int, waits: pd.DataFrame) -> tuple[int, str, int, int, int, int, int, int, float]:
    start_ns, end_ns = int(waits["start_ns"].iloc[0]), int(waits["end_ns"].max())
    covers = {kind: Intervals.of_rows(waits[waits["kind"] == kind]) for kind in _WAITS}
    edge, end = np.array([start_ns]), np.array([end_ns])
    ns = {kind: int(cover.within(edge, end)[0]) for kind, cover in covers.items()}
    seen_ns = end_ns - start_ns
    running_ns = max(0, seen_ns - sum(ns.values()))
    busy_ns = running_ns + ns[TimeKind.RUN_QUEUE]
    name = str(waits["thread_name"].iloc[-1])
    loop = loop_of(waits, seen_ns) if busy_ns >= _LEAST_BUSY * seen_ns else None
    period = float("nan") if loop is None else float(loop.period_ns)
    return number, name, seen_ns, running_ns, ns[TimeKind.IO], ns[TimeKind.LOCK], ns[TimeKind.RUN_QUEUE], busy_ns, period
