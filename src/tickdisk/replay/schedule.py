"""The schedule of a replay, which says after which other requests and at which times each request is made."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import device
from tickdisk._native import order_calls
from tickdisk.foundation.errors import TickdiskError
from tickdisk.replay.changes import MAKES_NAME
from tickdisk.replay.plan import SYNCS, ReplayPlan
from tickdisk.replay.timing import Integers, ready_ns

ORDERS = ("thread", "ended", "strict")
"""Orders of requests. Each has all that the one before it demands."""
PACES = ("captured", "closed", "at-once")
"""Rules that give a request its time when nothing more has to be waited for."""
_NEED = np.dtype([("request", "<u4"), ("stream", "<u4"), ("count", "<u4")])
_CONTENT, _LIFE, _SYNC, _WHOLE = range(4)
"""Kinds of calls, as in src/native/src/order.rs."""
_LONGEST_NS = 3e18
_NO_LATENCY = device.DeviceModel(name="none", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)


@dataclass(frozen=True)
class Schedule:
    """The order and the pace of a replay. Each request waits at least for the one before it in its thread."""

    order: str = "thread"
    """The rule that says what else a request waits for, one of ORDERS.

    - `thread`: nothing.
    - `ended`: the request of any thread that had ended last when it began in the capture. The simulator Shape has this rule.
    - `strict`: also all syncs that had ended. Besides, a read or write waits for the calls that had opened, closed, truncated,
      renamed or removed its file, and every such call waits for all calls to the file that had ended.
    """
    pace: str = "captured"
    """When a request is made that has nothing more to wait for, one of PACES.

    - `captured`: at its captured time from the start. This is an open loop.
    - `closed`: as long after the last of those that it waited for as in the capture. A disk that answers later delays all that
      follows, and one that answers sooner hastens it.
    - `at-once`: at once.
    """
    speed: float = 1.0
    """Number by which captured times, or the pauses of a closed loop, are divided."""

    def __post_init__(self) -> None:
        """Raises TickdiskError if a value is not one of those above."""
        for name, value, known in (("order", self.order, ORDERS), ("pace", self.pace, PACES)):
            if value not in known:
                raise TickdiskError(f"the {name} {value!r} is not known; give one of {', '.join(known)}")
        if not (math.isfinite(self.speed) and self.speed > 0):
            raise TickdiskError(f"the speed {self.speed} is not above 0; give a number such as 2 for twice as fast")
        if self.pace == "at-once" and self.speed != 1:
            raise TickdiskError("a replay at once has no times that a speed could change; leave out the speed")

    @property
    def is_closed(self) -> bool:
        """Whether times count from the moment at which a request has nothing more to wait for, instead of from the start."""
        return self.pace != "captured"


@dataclass(frozen=True)
class Turns:
    """When the turn of each request of a plan comes. `turns_of` computes it."""

    streams: Integers
    """Number of each request's stream, from 0 on. Shape (n,)."""
    due_ns: Integers
    """Time from the start, or in a closed loop from the moment at which a request has nothing more to wait for. Shape (n,)."""
    needs: npt.NDArray[np.void]
    """The requests of other streams that must be completed before a request. Its fields are request (a position in the plan),
    stream, and count (number of requests of that stream). The requests before it in its own stream are not here."""
    is_closed: bool
    """Whether the times are those of a closed loop."""

    def ready_ns(self, completed_ns: npt.ArrayLike) -> Integers:
        """Returns when the last request that each one waits for was completed, or the smallest integer if there is none."""
        return ready_ns(self.streams, completed_ns, self.needs)

    def least_s(self) -> float:
        """Returns the time in seconds to the end of the last request if every request took no time."""
        steps = device.Steps(self.streams, self.due_ns, np.zeros(len(self.streams), np.int64), self.needs.tobytes())
        _, completed_ns = device.simulate_streams(_NO_LATENCY, steps, [], [], [], is_closed=self.is_closed)
        return float(completed_ns.max(initial=0)) / 1e9


def turns_of(plan: ReplayPlan, schedule: Schedule) -> Turns:
    """Computes when the turn of each request of a plan comes.

    A request whose captured latency is not known is waited for only by its own stream, and its latency counts as 0. Raises
    TickdiskError if the schedule needs latencies, and the trace has none.
    """
    requests = plan.requests
    streams = pd.factorize(requests["thread"])[0].astype(np.int64)
    begin_ns = requests["due_ns"].to_numpy(np.int64)
    if (schedule.order != "thread" or schedule.pace == "closed") and requests["captured_ns"].isna().all():
        raise TickdiskError(
            "the trace has no latencies, so nobody knows which requests had ended when another began; replay it in the order "
            "thread at the pace captured or at-once"
        )
    end_ns = begin_ns + requests["captured_ns"].fillna(0).clip(lower=0).to_numpy(np.int64)
    needs = np.zeros(0, _NEED) if schedule.order == "thread" else _needs(plan, streams, begin_ns, end_ns, schedule.order)
    due_ns = np.zeros_like(begin_ns)
    if schedule.pace == "captured":
        due_ns = begin_ns
    elif schedule.pace == "closed":
        due_ns = np.maximum(0, begin_ns - np.maximum(0, ready_ns(streams, end_ns, needs)))
    if schedule.speed != 1:
        scaled = due_ns / schedule.speed
        if scaled.max(initial=0) > _LONGEST_NS:
            raise TickdiskError(f"at the speed {schedule.speed:g} the replay takes more than a century; give a larger speed")
        due_ns = np.round(scaled).astype(np.int64)
    return Turns(streams, due_ns, needs, schedule.is_closed)


def _needs(plan: ReplayPlan, streams: Integers, begin_ns: Integers, end_ns: Integers, order: str) -> npt.NDArray[np.void]:
    requests = plan.requests
    names = pd.Index(pd.unique(pd.concat([requests["file"], requests["other"]])))
    file = names.get_indexer(requests["file"])
    columns = (
        begin_ns,
        np.where(requests["captured_ns"].isna(), -1, end_ns),
        streams,
        _kinds(requests, plan.folders),
        file,
        np.where(requests["op"].isin(MAKES_NAME), names.get_indexer(requests["other"]), file),
    )
    packed = order_calls([np.asarray(column, np.int64).tobytes() for column in columns], order == "strict")
    return np.frombuffer(packed, _NEED)


def _kinds(requests: pd.DataFrame, folders: frozenset[str]) -> npt.NDArray[np.int64]:
    """Returns the kind of each call. A sync, making, rename or removal of a folder concerns many files."""
    op, is_folder = requests["op"], requests["file"].isin(folders)
    is_sync = op == "sync"
    is_whole = is_sync & requests["call"].isin(SYNCS[2:]) | (
        is_folder & (is_sync | op.isin(["rename", "unlink", "mkdir", "rmdir"]))
    )
    return np.select([is_whole, is_sync, op.isin(["read", "write"])], [_WHOLE, _SYNC, _CONTENT], _LIFE)
