"""Recognises the pauses of a Java runtime from the waits of its threads, because a running server tells nothing itself."""

import numpy as np
import pandas as pd

from tickdisk.foundation.waiting import TimeKind

_STOPS = "VM Thread"
"""Name of the thread of HotSpot that stops all others at a safepoint, and lets them go on."""
_COLLECTS = ("GC Thread", "G1 ", "ZWorker", "ZDriver", "ZYoung", "ZOld", "Shenandoah")
"""Beginnings of the names of threads that collect garbage."""
GARBAGE, SAFEPOINT = "garbage collection", "a safepoint of Java"


def pauses_of(waits: pd.DataFrame) -> pd.DataFrame:
    """Returns the times in which HotSpot had stopped threads: name, begin_ns and end_ns, in the order of time.

    `waits` has the columns thread_name, kind, start_ns, end_ns and waker_name of the table of waits. A stopped thread waits as
    if for a lock, and the thread `VM Thread` wakes it. The collector's own threads run in the pause, unless the thread
    `VM Thread` collects itself. There are none in a program without that thread.
    """
    stopped = waits[(waits["kind"] == TimeKind.LOCK) & (waits["waker_name"] == _STOPS)].sort_values("start_ns")
    start_ns, end_ns = stopped["start_ns"].to_numpy(np.int64), stopped["end_ns"].to_numpy(np.int64)
    reached_ns = np.maximum.accumulate(end_ns) if end_ns.size else end_ns
    first = np.append(True, start_ns[1:] > reached_ns[:-1]) if end_ns.size else np.zeros(0, bool)
    begins_ns = start_ns[first]
    ends_ns = reached_ns[np.append(first[1:], True)] if end_ns.size else reached_ns
    collects = waits["thread_name"].str.startswith(_COLLECTS).fillna(value=False)
    woken_ns = np.sort(waits.loc[collects, "end_ns"].to_numpy(np.int64))
    did_collect = np.searchsorted(woken_ns, ends_ns, side="right") > np.searchsorted(woken_ns, begins_ns)
    names = np.where(did_collect, GARBAGE, SAFEPOINT)
    return pd.DataFrame({"name": names.astype(object), "begin_ns": begins_ns, "end_ns": ends_ns})
