"""Finds the block requests behind each wait for storage, and groups those that were in the device at the same time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tickdisk import device
from tickdisk.blame import NONE, READS, CaptureEvidence, FilesOnDevice, match_requests, requests_of
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TimeKind

if TYPE_CHECKING:
    from tickdisk.predict.program import Request

_TOLD = ("op", "file", "storing")
Times = tuple[list[int], list[int], list[int]]
"""Arrival, nominal completion and reply of each request, in ns."""


@dataclass(frozen=True)
class Wave:
    """Block requests that were in the device at the same time, between times at which the device had none of their wait."""

    rows: tuple[int, ...]
    """Their rows in the device's log, in the order of arrival."""
    begin_ns: int
    """Arrival of the first of them."""
    nominal_ns: int
    """Time that the captured device's model took for all of them, side by side."""
    end_ns: int
    """Reply to the last of them."""


class Requests:
    """The block requests of a capture, the waits that waited for them, and the steps that make them.

    Several waits may wait for the same request, such as one of the journal. The first of them makes it, and the others join.
    """

    def __init__(self, evidence: CaptureEvidence, model: device.DeviceModel) -> None:
        """Finds the requests of each wait. `model` is the captured device.

        Raises TickdiskError if the evidence does not tell which requests they are.
        """
        log, extents = evidence.device, evidence.extents
        if log is None or extents is None:
            raise TickdiskError(
                f"{evidence.name} does not tell which block requests its threads waited for, which a prediction needs; "
                "name a captured server life of a run, such as one of the experiment inside_tick"
            )
        self.log = log
        ops = log["op"].map(device.OPS.index).tolist()
        self.asked: list[Request] = list(zip(ops, log["offset"].tolist(), log["length"].tolist(), strict=True))
        """Operation, place and length of each request, by its row in the device's log."""
        self.times = _times(log, model)
        self._waves = _waves_of(evidence, log, extents, self.times)
        starts = evidence.waits["start_ns"].to_numpy(np.int64)
        self._owner: dict[int, int] = {}
        for wait in sorted(self._waves, key=lambda row: int(starts[row])):
            for row in (row for wave in self._waves[wait] for row in wave.rows):
                self._owner.setdefault(row, wait)
        self._steps: dict[int, int] = {}
        self._shared: list[tuple[int, int]] = []

    def waves_of(self, wait: int) -> Sequence[Wave]:
        """Returns the requests that a wait waited for, in the order of time. There are none for most kinds of waits."""
        return self._waves.get(wait, ())

    def claimed(self, wait: int, wave: Wave) -> tuple[list[int], list[int]]:
        """Returns the requests of a wave that its wait makes, and those that another wait makes."""
        own = [row for row in wave.rows if self._owner[row] == wait]
        return own, [row for row in wave.rows if self._owner[row] != wait]

    def made(self, rows: Sequence[int], step: int) -> None:
        """Takes down which step makes some requests."""
        self._steps |= dict.fromkeys(rows, step)

    def makers(self, rows: Sequence[int]) -> list[int]:
        """Returns the steps that make some requests. It is known when all steps have been written."""
        return sorted({self._steps[row] for row in rows if row in self._steps})

    def shared(self, rows: Sequence[int], step: int) -> None:
        """Takes down a step that waits for requests of other steps."""
        self._shared += [(step, row) for row in rows]

    def joined(self) -> list[tuple[int, int]]:
        """Returns pairs of steps, of which the first waits for a request that the second makes."""
        return [(step, self._steps[row]) for step, row in self._shared if row in self._steps]

    def left_over(self) -> list[int]:
        """Returns the rows of the requests that no wait waited for, in the order of arrival."""
        arrival = self.log["arrival_ns"].to_numpy(np.int64)
        rest = np.setdiff1d(np.arange(len(self.log)), np.fromiter(self._owner, np.int64))
        ordered: list[int] = rest[np.argsort(arrival[rest], kind="stable")].tolist()
        return ordered


def _times(log: pd.DataFrame, model: device.DeviceModel) -> Times:
    """Returns arrival, nominal completion and reply of all requests of the device's log, in ns, by their rows.

    Stalls that were ordered are not part of a model. Their time remains in the program as time of the kernel.
    """
    ordered = log.sort_values("arrival_ns", kind="stable")
    ops = ordered["op"].map(device.OPS.index)
    nominal = device.simulate(model, ordered["arrival_ns"], ops, ordered["offset"], ordered["length"])
    columns = log["arrival_ns"], pd.Series(nominal, index=ordered.index).reindex(log.index), log["replied_ns"]
    arrival_ns, nominal_ns, replied_ns = (column.tolist() for column in columns)
    return arrival_ns, nominal_ns, replied_ns


def _waves_of(evidence: CaptureEvidence, log: pd.DataFrame, extents: pd.DataFrame, times: Times) -> dict[int, list[Wave]]:
    """Returns the waves of requests that each wait for storage waited for, in the order of time, by the row of the wait."""
    waits = evidence.waits
    rows = np.flatnonzero((waits["kind"] == TimeKind.IO).to_numpy())
    io = waits.iloc[rows].reset_index(drop=True)
    asked = requests_of(io, evidence.requests)
    called = evidence.requests.reset_index(drop=True).reindex(asked).reset_index(drop=True)
    windows = io[["start_ns", "end_ns"]].assign(
        **{name: called[name].astype(object).where(called[name].notna(), "") for name in _TOLD},
        **{name: called[name].fillna(NONE).astype("int64") for name in ("offset", "length")},
    )
    found = match_requests(windows, log, FilesOnDevice.of(log, extents))
    best = np.zeros(len(io), np.int64)
    np.maximum.at(best, found.wait, found.rank)
    # A read waits for its own pages. Other threads may read metadata or other files meanwhile.
    kept = ~windows["op"].isin(READS).to_numpy()[found.wait] | (found.rank == best[found.wait])
    order = np.lexsort((log["arrival_ns"].to_numpy(np.int64)[found.request], found.wait))
    order = order[kept[order]]
    of: dict[int, list[int]] = {}
    for wait, request in zip(found.wait[order].tolist(), found.request[order].tolist(), strict=True):
        of.setdefault(int(rows[wait]), []).append(request)
    return {wait: grouped(requests, times) for wait, requests in of.items()}


def grouped(requests: Sequence[int], times: Times) -> list[Wave]:
    """Groups requests, given in the order of arrival, into waves. A wave ends where all of its requests have been answered."""
    arrival, nominal, replied = times
    waves: list[Wave] = []
    group: list[int] = []
    end_ns = 0
    for row in [*requests, NONE]:
        if group and (row == NONE or arrival[row] >= end_ns):
            took_ns = max(nominal[each] for each in group) - arrival[group[0]]
            waves.append(Wave(tuple(group), arrival[group[0]], took_ns, end_ns))
            group, end_ns = [], 0
        if row != NONE:
            group.append(row)
            end_ns = max(end_ns, replied[row])
    return waves
