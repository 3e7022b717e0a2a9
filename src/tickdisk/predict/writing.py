"""Writes the program of a capture: what each thread computed, and what it waited for."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import device
from tickdisk.blame import LOCK, NONE, CaptureEvidence, Integers, ThreadWaits
from tickdisk.foundation.errors import TickdiskError
from tickdisk.predict.locks import behind_locks
from tickdisk.predict.program import Alarm, Program, Step
from tickdisk.predict.requests import Requests, grouped
from tickdisk.predict.thread import CUT, TICK, WAIT, Event, ThreadWriter, TickClock

_EARLIER_NS = 500_000_000
"""The time before the first tick that counts at which a program begins."""
_LATER_NS = 1_000_000_000


@dataclass(frozen=True)
class Written:
    """The program of a capture, and the places of its ticks."""

    program: Program
    begin_ns: int
    """The time at which the program begins."""
    starts_ns: Integers
    """Captured start of each tick, in the order of time."""
    ticks: Integers
    """Step that is completed when each tick starts."""
    path: Integers
    """Steps of the thread that ticks, in the order of time."""
    path_at_ns: Integers
    """Time in the capture at which each of them was completed."""
    dues: list[int]
    """Time that each of them computes."""
    alarms: list[Alarm | None]
    """Timer or event that each of them waits for."""
    lent: dict[int, list[int]]
    """Steps of a holder of a lock, for whose requests a step of the thread that ticks waits, by its place in `path`."""
    holding: Integers
    """Steps of other threads that hold a lock while they read, which the thread that ticks takes whenever it begins to work."""
    idle_ns: tuple[Integers, Integers]
    """Captured start and end of each wait in which the thread that ticks had nothing to do."""
    readers: tuple[tuple[Integers, Integers], ...] = ()
    """For each thread that reads the world for players, its steps with block requests, and their captured ends."""
    waits_followed: int = 0
    """Number of waits for storage whose block requests are known."""
    waits_kept: int = 0
    """Number of waits for storage without a block request, which keep their time."""


def written(evidence: CaptureEvidence, model: device.DeviceModel, window_ns: tuple[int, int]) -> Written:
    """Writes the program of what the captured threads did around a window of time, in ns of CLOCK_MONOTONIC.

    `model` is the captured device.
    Raises TickdiskError if the capture has no thread that ticks, or its block requests are not known.
    """
    requests = Requests(evidence, model)
    lanes = ThreadWaits(evidence.waits)
    begin_ns = max(evidence.captured_ns[0], window_ns[0] - _EARLIER_NS)
    end_ns = min(evidence.captured_ns[1], window_ns[1] + _LATER_NS)
    if evidence.ticks is None:
        raise TickdiskError(f"{evidence.name} has no ticks; name a captured server life of a run")
    starts = evidence.ticks.drop_duplicates("tick")["start_ns"].sort_values().to_numpy(np.int64)
    ticking = _tick_lane(evidence, lanes)
    locks = behind_locks(lanes, ticking, (begin_ns, end_ns), requests, parks=evidence.parks)
    clock = TickClock(starts[(starts > begin_ns) & (starts < end_ns)], locks.behind)
    kinds = evidence.waits["kind"].to_numpy()[lanes.rows]
    cuts = _cuts(lanes, begin_ns, end_ns)
    steps: list[Step] = []
    followed = kept = 0
    for lane in range(lanes.threads.size):
        writer = ThreadWriter(steps, lane, begin_ns, requests, clock if lane == ticking else None)
        for event in _events(lanes, lane, kinds, (begin_ns, end_ns), cuts, clock if lane == ticking else None):
            writer.take(event)
        followed, kept = followed + writer.followed, kept + writer.kept
    steps += _others(requests, lanes.threads.size, begin_ns, end_ns)
    streams = np.array([step.stream for step in steps], np.int64)
    path = np.flatnonzero(streams == ticking)
    return Written(
        Program(steps, requests.joined()),
        begin_ns,
        clock.starts_ns,
        np.array(clock.steps, np.int64),
        path,
        np.array([steps[number].at_ns for number in path], np.int64),
        [steps[number].due_ns for number in path],
        [steps[number].alarm for number in path],
        {int(np.searchsorted(path, step)): requests.makers(rows) for step, rows in clock.lent.items()},
        np.concatenate([np.zeros(0, np.int64), *(_reading(steps, streams, lane)[0] for lane in locks.holders)]),
        (np.array(clock.idle_from_ns, np.int64), np.array(clock.idle_until_ns, np.int64)),
        tuple(_reading(steps, streams, lane) for lane in _reader_lanes(evidence, lanes)),
        followed,
        kept,
    )


def _tick_lane(evidence: CaptureEvidence, lanes: ThreadWaits) -> int:
    waits = evidence.waits
    named = waits.loc[waits["thread_name"] == evidence.thread, "thread"]
    told = pd.Series(dtype="int64") if evidence.ticks is None else evidence.ticks["thread"].dropna().astype("int64")
    chosen = told[told.isin(named)] if told.isin(named).any() else named
    lane = int(lanes.lane_of(np.array([int(chosen.mode().iloc[0])]))[0]) if len(chosen) else NONE
    if lane == NONE:
        raise TickdiskError(f"{evidence.name}: no wait of the thread that ticks was captured; run the cell again")
    return lane


def _reader_lanes(evidence: CaptureEvidence, lanes: ThreadWaits) -> list[int]:
    if evidence.readers is None:
        return []
    named = evidence.waits["thread_name"].str.startswith(evidence.readers)
    return sorted(set(lanes.lane_of(evidence.waits.loc[named, "thread"].unique().astype(np.int64)).tolist()) - {NONE})


def _reading(steps: list[Step], streams: Integers, lane: int) -> tuple[Integers, Integers]:
    """Returns the steps of a thread that make block requests, and the captured times of their ends."""
    made = np.array([number for number in np.flatnonzero(streams == lane).tolist() if steps[number].requests], np.int64)
    return made, np.array([steps[number].at_ns for number in made.tolist()], np.int64)


def _cuts(lanes: ThreadWaits, begin_ns: int, end_ns: int) -> dict[int, Integers]:
    """Returns the times at which each thread woke another one."""
    woke = (lanes.waker != NONE) & (lanes.kind == LOCK) & (lanes.end_ns > begin_ns) & (lanes.end_ns < end_ns)
    waker, at_ns = lanes.waker[woke], lanes.end_ns[woke]
    each, first = np.unique(np.sort(waker), return_index=True)
    return {lane: np.unique(at_ns[waker == lane]) for lane, _ in zip(each.tolist(), first, strict=True)}


def _events(
    lanes: ThreadWaits,
    lane: int,
    kinds: npt.NDArray[np.object_],
    window_ns: tuple[int, int],
    cuts: dict[int, Integers],
    clock: TickClock | None,
) -> Iterator[Event]:
    """Yields what happens in a thread, in the order of time."""
    _, waits = lanes.overlapping(np.array([lane]), np.array([window_ns[0]]), np.array([window_ns[1]]))
    events = []
    for wait in waits.tolist():
        is_lock, waker = bool(lanes.kind[wait] == LOCK), int(lanes.waker[wait])
        ends = int(lanes.start_ns[wait]), int(lanes.end_ns[wait])
        events.append(Event(ends[0], WAIT, int(lanes.rows[wait]), ends[1], str(kinds[wait]), waker if is_lock else NONE))
    events += [Event(at_ns, CUT) for at_ns in cuts.get(lane, np.zeros(0, np.int64)).tolist()]
    if clock is not None:
        events += [Event(at_ns, TICK, number) for number, at_ns in enumerate(clock.starts_ns.tolist())]
    yield from sorted(events, key=lambda event: (event.at_ns, event.what))


def _others(requests: Requests, stream: int, begin_ns: int, end_ns: int) -> Iterator[Step]:
    """Yields the steps of the block requests that no thread waited for, which keep the device busy at their captured times."""
    inside = [row for row in requests.left_over() if begin_ns < requests.times[0][row] < end_ns]
    for wave in grouped(inside, requests.times):
        yield Step(stream, wave.begin_ns, 0, alarm=Alarm(wave.begin_ns))
        yield Step(stream, wave.end_ns, 0, [requests.asked[row] for row in wave.rows])
