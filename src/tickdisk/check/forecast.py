"""Forecasts how many ticks would be late on other classes of disks, from the requests that the disk got while ticks waited."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk import device
from tickdisk.blame import READS, SLOW, Blame
from tickdisk.check.record import Forecast
from tickdisk.foundation.waiting import TickCause, TimeKind

_MOST_LATE = 0.001
"""Share of the ticks that storage may make late on a class that would do."""


def forecasts(
    ticks: pd.DataFrame, explained: Sequence[Blame], requests: pd.DataFrame | None, classes: Mapping[str, device.DeviceModel]
) -> tuple[Forecast, ...]:
    """Returns a forecast for each class of disk, the slowest first.

    Reads, and all other waits for storage, are scaled by the ratio of two times: that which the requests of the disk would take
    on the class, one after another, and that which they took. Only requests that were under way while a tick waited count. There
    is no forecast if the requests are not known, or if no tick waited.
    """
    if requests is None or explained[0].budget_ns is None:
        return ()
    used = requests[requests["op"].isin(device.OPS) & _waited_for(requests, explained)]
    if used.empty:
        return ()
    read_ns, saved_ns = _waits_ns(ticks, explained)
    awake_ns = (ticks["gap_ns"] - ticks["sleep_ns"] - ticks["storage_ns"]).to_numpy()
    asleep = (ticks["slow"] & (ticks["cause"] == TickCause.SLEEP)).to_numpy()
    most_ns = SLOW * explained[0].budget_ns
    without = int((asleep | (awake_ns > most_ns)).sum())
    rows = []
    for name, model in classes.items():
        read, saved = (_ratio(used[used["op"].isin(ops)], model) for ops in (("read",), ("write", "flush", "discard")))
        both = _ratio(used, model) or 0.0
        stored_ns = read_ns * (both if read is None else read) + saved_ns * (both if saved is None else saved)
        late = int((asleep | (awake_ns + stored_ns > most_ns)).sum())
        allowed = without + _MOST_LATE * len(ticks)
        rows.append((float(stored_ns.sum()), Forecast(device=name, late=late, late_without=without, would_do=late <= allowed)))
    return tuple(row for _, row in sorted(rows, key=lambda pair: -pair[0]))


def _waited_for(requests: pd.DataFrame, explained: Sequence[Blame]) -> NDArray[np.bool_]:
    begin_ns, end_ns = (requests[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
    waited = np.zeros(len(requests), bool)
    for own in explained:
        waited |= own.storage.within(begin_ns, end_ns) > 0
    return waited


def _waits_ns(ticks: pd.DataFrame, explained: Sequence[Blame]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns for each tick how long it waited for reads, and for all else that needs storage."""
    parts = []
    for at, own in enumerate(explained):
        io = own.links[own.links["kind"] == TimeKind.IO]
        parts.append(io.assign(window=at, is_read=io["op"].isin(READS)))
    io = pd.concat(parts)
    places = pd.MultiIndex.from_frame(ticks[["window", "tick"]])
    sums = [
        io[io["is_read"] == is_read].groupby(["window", "tick"])["ns"].sum().reindex(places, fill_value=0).to_numpy(np.int64)
        for is_read in (True, False)
    ]
    return sums[0], sums[1]


def _ratio(requests: pd.DataFrame, model: device.DeviceModel) -> float | None:
    """Returns the time of some requests on a class, over the time that they took, or None if there are none."""
    if requests.empty:
        return None
    ops = requests["op"].map(device.OPS.index)
    arrived_ns, done_ns = device.simulate_closed(model, 1, ops, requests["sector"] * 512, requests["length"])
    took_ns = int((requests["completed_ns"] - requests["issued_ns"]).sum())
    return float((done_ns - arrived_ns).sum()) / max(took_ns, 1)
