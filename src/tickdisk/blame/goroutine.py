"""Makes a thread of a goroutine, so that its ticks are explained as those of a thread.

A goroutine moves between threads. While it has one, the waits of this thread are its own. While it is parked in a piece of work,
it waits for the thread that makes it ready again, as a thread waits for the holder of a lock. Between two pieces it sleeps.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from tickdisk.blame.evidence import CaptureEvidence
from tickdisk.blame.lanes import NONE, Integers, ThreadWaits
from tickdisk.foundation.waiting import TimeKind
from tickdisk.trace import GoroutineEvent

_NUMBER = 1 << 22
"""Number of the thread that stands for the goroutine. The kernel's numbers of threads are smaller (PID_MAX_LIMIT)."""
_IDLE = (TimeKind.SLEEP, TimeKind.LOCK)


@dataclass(frozen=True)
class _Time:
    """A time of a goroutine on a thread, or without one."""

    start_ns: int
    end_ns: int
    thread: int
    """The thread that it has, or the one that made it ready, or NONE."""
    kind: TimeKind | None
    """The kind of its wait, or None if it has a thread."""


def with_goroutine(evidence: CaptureEvidence, events: pd.DataFrame, name: str, budget_ns: int) -> CaptureEvidence:
    """Returns the evidence with a thread called `name` for the goroutine that does most work, and with its ticks.

    `events` has the columns of `trace.read_goroutines`, and `budget_ns` is the time in ns from one tick to the next if both are
    on time. The evidence is returned as it is if no goroutine ticks in it.
    """
    # Another process may run the same program.
    events = events[events["thread"].isin(evidence.waits["thread"])]
    work = events[events["event"] == GoroutineEvent.RUN]["goroutine"].value_counts()
    own = events[events["goroutine"] == (work.index[0] if len(work) else NONE)]
    starts_ns = own.loc[own["event"] == GoroutineEvent.TICK, "at_ns"].to_numpy(np.int64)
    starts_ns = starts_ns[(starts_ns >= evidence.captured_ns[0]) & (starts_ns <= evidence.captured_ns[1])]
    if not starts_ns.size:
        return evidence
    times = _times(own, evidence.captured_ns)
    ticks = pd.DataFrame({"tick": np.arange(1, starts_ns.size + 1), "start_ns": starts_ns})
    ticks["end_ns"] = pd.array([pd.NA] * len(ticks), dtype="Int64")
    on = [each for each in times if each.kind is None]
    waits = pd.concat([evidence.waits, _on_threads(evidence.waits, on, name), _off_threads(evidence.waits, times, name)])
    return replace(
        evidence,
        waits=waits.sort_values("start_ns", kind="stable", ignore_index=True),
        requests=_moved(evidence.requests, on, name),
        ticks=ticks,
        budget_ns=budget_ns,
        thread=name,
        recognised=True,
    )


def _times(events: pd.DataFrame, captured_ns: tuple[int, int]) -> list[_Time]:
    """Returns the times of a goroutine from its events, in the order of time, as far as they were captured."""
    life = _Life()
    for event, at_ns, thread in events[["event", "at_ns", "thread"]].itertuples(index=False):
        match event:
            case GoroutineEvent.READY:
                life.ready_ns, life.waker = at_ns, thread
            case GoroutineEvent.PARK:
                life.leave(at_ns)
                life.parked_ns = at_ns
            case GoroutineEvent.YIELD:
                life.leave(at_ns)
                life.ready_ns = at_ns
            case GoroutineEvent.ON:
                life.return_to(at_ns, thread)
            case _:
                life.stay(at_ns, thread)
                life.works = {GoroutineEvent.RUN: True, GoroutineEvent.DONE: False}.get(event, life.works)
    life.end(captured_ns[1])
    first_ns, last_ns = captured_ns
    clipped = [replace(each, start_ns=max(each.start_ns, first_ns), end_ns=min(each.end_ns, last_ns)) for each in life.times]
    return [each for each in clipped if each.end_ns > each.start_ns]


@dataclass
class _Life:
    """The times of a goroutine up to now, and its state."""

    times: list[_Time] = field(default_factory=list)
    thread: int = NONE
    """The thread that it has, or NONE."""
    begun_ns: int = 0
    """The time since which it has the thread."""
    parked_ns: int | None = None
    ready_ns: int | None = None
    waker: int = NONE
    works: bool = False

    def leave(self, at_ns: int) -> None:
        """It has its thread no longer."""
        if self.thread != NONE:
            self.times.append(_Time(self.begun_ns, at_ns, self.thread, None))
        self.thread, self.parked_ns, self.ready_ns, self.waker = NONE, None, None, NONE

    def return_to(self, at_ns: int, thread: int) -> None:
        """It gets a thread, after it waited for others, or for a thread."""
        self.wait_until(at_ns)
        self.stay(at_ns, thread)

    def end(self, at_ns: int) -> None:
        """Nothing is known of it any more."""
        self.wait_until(at_ns)
        self.leave(at_ns)

    def wait_until(self, at_ns: int) -> None:
        """Its wait is over."""
        if self.parked_ns is not None:
            kind, waker = (TimeKind.LOCK, self.waker) if self.works else (TimeKind.SLEEP, NONE)
            self.times.append(_Time(self.parked_ns, at_ns if self.ready_ns is None else self.ready_ns, waker, kind))
        if self.ready_ns is not None:
            self.times.append(_Time(self.ready_ns, at_ns, NONE, TimeKind.RUN_QUEUE))
        self.parked_ns = self.ready_ns = None

    def stay(self, at_ns: int, thread: int) -> None:
        """It has this thread. If it had another one, it was not seen how it left that one."""
        if thread != self.thread:
            self.leave(at_ns)
            self.thread, self.begun_ns = thread, at_ns


def _on_threads(waits: pd.DataFrame, times: list[_Time], name: str) -> pd.DataFrame:
    """Returns the waits of the goroutine's threads while it has them. If a thread waits for work at the end of such a time, the
    goroutine has left it, and waits for a core.
    """
    start_ns, end_ns, thread = _columns(times)
    lanes = ThreadWaits(waits)
    time, wait = lanes.overlapping(lanes.lane_of(thread), start_ns, end_ns)
    met = lanes.lane_of(thread)[time] != NONE
    time, wait = time[met], wait[met]
    own: pd.DataFrame = waits.iloc[lanes.rows[wait]].copy()
    has_left = (lanes.end_ns[wait] > end_ns[time]) & own["kind"].isin(_IDLE).to_numpy()
    own["start_ns"] = np.maximum(lanes.start_ns[wait], start_ns[time])
    own["end_ns"] = np.minimum(lanes.end_ns[wait], end_ns[time])
    own["kind"] = np.where(has_left, TimeKind.RUN_QUEUE.value, own["kind"])
    return own.assign(thread=_NUMBER, thread_name=name)


def _off_threads(waits: pd.DataFrame, times: list[_Time], name: str) -> pd.DataFrame:
    """Returns the waits of the goroutine while it has no thread."""
    off = [each for each in times if each.kind is not None]
    start_ns, end_ns, waker = _columns(off)
    names = waits.drop_duplicates("thread", keep="last").set_index("thread")["thread_name"]
    is_known = waker != NONE
    table = pd.DataFrame(
        {
            "thread": _NUMBER,
            "thread_name": name,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "kind": [each.kind for each in off],
            "call": "",
            "waker": pd.Series(waker, dtype="Int64").where(is_known),
            "waker_name": pd.Series(names.reindex(waker).to_numpy(), dtype="string").where(is_known),
        }
    )
    return table.astype(waits.dtypes.to_dict())


def _moved(requests: pd.DataFrame, times: list[_Time], name: str) -> pd.DataFrame:
    """Returns the requests, of which those that the goroutine began belong to the thread that stands for it."""
    own = np.zeros(len(requests), dtype=bool)
    begun_ns, threads = requests["start_ns"].to_numpy(np.int64), requests["thread"].to_numpy(np.int64)
    start_ns, end_ns, thread = _columns(times)
    for number in np.unique(thread):
        start, end = start_ns[thread == number], end_ns[thread == number]
        at = np.searchsorted(start, begun_ns, side="right") - 1
        own |= (threads == number) & (at >= 0) & (begun_ns < end[at])
    moved = {"thread": requests["thread"].mask(own, _NUMBER), "thread_name": requests["thread_name"].mask(own, name)}
    return requests.assign(**moved).astype(requests.dtypes.to_dict())


def _columns(times: list[_Time]) -> tuple[Integers, Integers, Integers]:
    """Returns start, end and thread of the times, in ns, each with shape (n,)."""
    table = np.array([(each.start_ns, each.end_ns, each.thread) for each in times], np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]
