"""Counts the requests of the device that a tick waited for one after another."""

import numpy as np
import pandas as pd

from tickdisk.blame.attribute import Blame
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TimeKind

OPERATIONS = ("read", "write", "flush")
_COUNTED = {"read": ("read",), "save": ("write", "flush")}
"""Operations that count in a wait for a read and in one of a save, because other threads use the device at the same time. In
another wait all of them count."""


def requests_in_a_row(blame: Blame) -> pd.DataFrame:
    """Returns for each tick how many requests of the device it waited for one after another, by operation.

    The columns are tick, start_ns, gap_ns, read, write and flush. A request counts if it was answered while the tick waited for
    storage, itself or behind locks, and arrived after the one that counted before it was answered. Requests that are in the
    device at the same time therefore count as one, which is the one that was answered first. Raises TickdiskError if the device
    has no log.
    """
    device = blame.evidence.device
    if device is None:
        raise TickdiskError(f"{blame.evidence.name} has no log of the device; capture a server life on an emulated device")
    answered = device[device["op"].isin(OPERATIONS)].sort_values("replied_ns", kind="stable")
    arrivals, replies, ops = (answered[name].to_numpy() for name in ("arrival_ns", "replied_ns", "op"))
    links = blame.links[blame.links["kind"] == TimeKind.IO].sort_values("start_ns", kind="stable")
    counts = {tick: dict.fromkeys(OPERATIONS, 0) for tick in blame.ticks["tick"].tolist()}
    last_ns = 0
    for tick, start_ns, end_ns, routine in links[["tick", "start_ns", "end_ns", "routine"]].itertuples(index=False):
        low, high = np.searchsorted(replies, [start_ns, end_ns], side="right")
        for number in range(low, high):
            op = str(ops[number])
            if arrivals[number] >= last_ns and op in _COUNTED.get(routine.partition(" ")[0], OPERATIONS):
                counts[tick][op] += 1
                last_ns = int(replies[number])
    table = pd.DataFrame.from_dict(counts, orient="index", columns=list(OPERATIONS)).rename_axis("tick").reset_index()
    return blame.ticks[["tick", "start_ns", "gap_ns"]].merge(table, on="tick")
