"""Forecasts how many ticks would be late on other classes of disks, from the requests that the disk got while ticks waited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk import device
from tickdisk.blame import SLOW, Blame, Integers
from tickdisk.check.record import Forecast, ForecastError
from tickdisk.foundation.errors import TickdiskError

_MOST_LATE = 0.001
"""Share of the ticks that storage may make late on a class that would do."""


def forecasts(
    ticks: pd.DataFrame, explained: Sequence[Blame], requests: pd.DataFrame | None, classes: Mapping[str, device.DeviceModel]
) -> tuple[Forecast, ...]:
    """Returns a forecast for each class of disk, the slowest first.

    Requests that were issued before any of them was completed are a step. A step is issued when the one before is completed, and
    as much later as it was. The waits of a tick are scaled by the time that its steps take on the class, over the time that they
    took. Only requests that were under way while a tick waited count. There is no forecast if the requests are not known, or if
    no tick waited.
    """
    if requests is None or explained[0].budget_ns is None:
        return ()
    used = requests[requests["op"].isin(device.OPS) & _waited_for(requests, explained)].sort_values("issued_ns")
    if used.empty:
        return ()
    steps = _Steps.of(used, ticks)
    storage_ns = ticks["storage_ns"].to_numpy()
    awake_ns = (ticks["gap_ns"] - ticks["sleep_ns"]).to_numpy() - storage_ns
    most_ns = SLOW * explained[0].budget_ns
    # Such a tick began late, or waited for something else, and no disk changes that.
    stays = (ticks["slow"] & (ticks["gap_ns"] - ticks["sleep_ns"] <= most_ns)).to_numpy()
    without = int((stays | (awake_ns > most_ns)).sum())
    allowed = without + _MOST_LATE * len(ticks)
    rows = []
    for name, model in classes.items():
        stored_ns = storage_ns * steps.ratios(model, len(ticks))
        late = int((stays | (awake_ns + stored_ns > most_ns)).sum())
        rows.append((float(stored_ns.sum()), Forecast(device=name, late=late, late_without=without, would_do=late <= allowed)))
    return tuple(row for _, row in sorted(rows, key=lambda pair: -pair[0]))


def known_error(path: Path, kind: str) -> ForecastError:
    """Returns the error of the forecasts that a file holds beside what was measured, such as data/forecasts.tsv.

    They are those for servers of this kind, or all if there are none.

    A row has the late ticks and all ticks of a forecast (`forecast_late`, `ticks`) and of the life on the disk that it was for
    (`measured_late`, `measured_ticks`). Raises TickdiskError if the file lacks them.
    """
    try:
        rows = pd.read_csv(path, sep="\t")
        rows = own if len(own := rows[rows["server"] == kind]) else rows
        off = (rows["forecast_late"] / rows["ticks"] - rows["measured_late"] / rows["measured_ticks"]).abs()
    except (OSError, ValueError, KeyError) as error:
        raise TickdiskError(f"{path} does not hold forecasts: {error}; take the file of the project") from error
    return ForecastError(forecasts=len(off), mean=float(off.mean()), largest=float(off.max()))


def _waited_for(requests: pd.DataFrame, explained: Sequence[Blame]) -> NDArray[np.bool_]:
    begin_ns, end_ns = (requests[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
    waited = np.zeros(len(requests), bool)
    for own in explained:
        waited |= own.storage.within(begin_ns, end_ns) > 0
    return waited


@dataclass(frozen=True)
class _Steps:
    """The requests of a disk, in steps that follow one another."""

    requests: pd.DataFrame
    counts: Integers
    """Number of requests of each step."""
    idle_ns: Integers
    """Time before each step in which no request was under way."""
    took_ns: Integers
    """Time of each step in which no earlier one was under way."""
    tick: Integers
    """Row of the tick in which each step began, or -1 for none."""

    @classmethod
    def of(cls, requests: pd.DataFrame, ticks: pd.DataFrame) -> "_Steps":
        """Makes steps of requests in the order of their issue."""
        begin_ns, end_ns = (requests[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
        firsts = [0]
        until_ns = end_ns[0]
        for row, (issued_ns, completed_ns) in enumerate(zip(begin_ns.tolist(), end_ns.tolist(), strict=True)):
            if issued_ns >= until_ns:
                firsts.append(row)
                until_ns = completed_ns
            until_ns = min(until_ns, completed_ns)
        first = np.array(firsts)
        over_ns = np.maximum.accumulate(np.maximum.reduceat(end_ns, first))
        before_ns = np.append(0, over_ns[:-1])
        took_ns = over_ns - np.maximum(begin_ns[first], before_ns)
        idle_ns = np.append(0, np.maximum(begin_ns[first[1:]] - over_ns[:-1], 0))
        order = np.argsort(ticks["start_ns"].to_numpy())
        start_ns = ticks["start_ns"].to_numpy()[order]
        at = np.searchsorted(start_ns, begin_ns[first], side="right") - 1
        inside = (at >= 0) & (begin_ns[first] < (start_ns + ticks["gap_ns"].to_numpy()[order])[at])
        return cls(requests, np.diff(np.append(first, len(requests))), idle_ns, took_ns, np.where(inside, order[at], -1))

    def ratios(self, model: device.DeviceModel, ticks: int) -> NDArray[np.float64]:
        """Returns for each tick the time that its steps take on a class of disk, over the time that they took.

        A tick in which no step began has the ratio of all steps.
        """
        ops = self.requests["op"].map(device.OPS.index)
        steps = device.Steps(stream=np.zeros_like(self.counts), due_ns=self.idle_ns, requests=self.counts)
        columns = ops, self.requests["sector"] * 512, self.requests["length"]
        issued_ns, completed_ns = device.simulate_streams(model, steps, *columns, is_closed=True)
        there_ns, in_tick = completed_ns - issued_ns, self.tick >= 0
        there, here = (np.bincount(self.tick[in_tick], weights=ns[in_tick], minlength=ticks) for ns in (there_ns, self.took_ns))
        whole = there_ns.sum() / max(int(self.took_ns.sum()), 1)
        ratios: NDArray[np.float64] = np.where(here > 0, there / np.maximum(here, 1), whole)
        return ratios
