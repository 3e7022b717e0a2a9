"""Programs: the steps of all threads of a capture, with what each step waits for, ready to be timed on any device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tickdisk import device
from tickdisk.blame import Integers

_NEED = np.dtype([("step", "<u4"), ("stream", "<u4"), ("count", "<u4")])
Request = tuple[int, int, int]
"""The index of an operation in `device.OPS`, an offset and a length in bytes."""


@dataclass(frozen=True)
class Alarm:
    """A time at which something outside the program happens that a step waits for, such as a timer or a packet."""

    at_ns: int
    gap: int | None = None
    """The tick that was under way, whose delay moves the time, too. None for a time that nothing moves."""


@dataclass(frozen=True)
class Step:
    """A step of a thread: it computes, makes requests side by side, and is completed when they are."""

    stream: int
    at_ns: int
    """The time at which the step was completed in the capture. Steps are put in the order of these times."""
    due_ns: int
    """The time that the step computes after all that it waits for."""
    requests: Sequence[Request] = ()
    wakers: tuple[tuple[int, int], ...] = ()
    """Streams that the step waits for, each with the time in the capture until which the stream must have come."""
    alarm: Alarm | None = None


class Program:
    """The steps of all streams in the order of time, whose times on a device can be computed."""

    def __init__(self, steps: Sequence[Step], joins: Sequence[tuple[int, int]] = ()) -> None:
        """Puts steps in order, which are given stream by stream.

        A join is a pair of steps, of which the first waits for the second.
        """
        alarms = sorted({step.alarm for step in steps if step.alarm is not None}, key=lambda alarm: (alarm.at_ns, alarm.gap or 0))
        streams = max((step.stream for step in steps), default=-1) + 1
        # Fixed and moved alarms are two streams of their own, whose steps do nothing but take time.
        own = [Step(streams + (alarm.gap is not None), alarm.at_ns, 0) for alarm in alarms]
        rank = _ranks(steps)
        keys = [(alarm.at_ns, 0, number) for number, alarm in enumerate(alarms)]
        keys += [(step.at_ns, rank[number], len(alarms) + number) for number, step in enumerate(steps)]
        order = [number for _, _, number in sorted(keys)]
        every = [*own, *steps]
        self.place = np.empty(len(every), np.int64)
        self.place[order] = np.arange(len(every))
        self.stream: Integers = np.array([every[number].stream for number in order], np.int64)
        self.at_ns: Integers = np.array([every[number].at_ns for number in order], np.int64)
        self.due_ns: Integers = np.array([every[number].due_ns for number in order], np.int64)
        self.counts: Integers = np.array([len(every[number].requests) for number in order], np.int64)
        self.requests = np.array([each for number in order for each in every[number].requests], np.int64).reshape(-1, 3)
        self.place_of_step: Integers = self.place[len(alarms) :]
        self._alarms, self._places = alarms, self.place[: len(alarms)]
        self.unordered = 0
        """Number of needs that contradict the order of time, and are left out. Only lost or misread events make some."""
        self._needs = self._needed(steps, joins, alarms).tobytes()

    def _needed(
        self, steps: Sequence[Step], joins: Sequence[tuple[int, int]], alarms: Sequence[Alarm]
    ) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        of = {stream: np.flatnonzero(self.stream == stream) for stream in np.unique(self.stream).tolist()}
        times = {stream: self.at_ns[places] for stream, places in of.items()}
        number_of = {alarm: number for number, alarm in enumerate(alarms)}
        found: list[tuple[int, int, int]] = []
        for number, step in enumerate(steps):
            place = int(self.place_of_step[number])
            for stream, at_ns in step.wakers:
                if stream in times and (count := int(np.searchsorted(times[stream], at_ns, side="right"))):
                    found.append((place, stream, count))
            if step.alarm is not None:
                awaited = int(self.place[number_of[step.alarm]])
                found.append((place, int(self.stream[awaited]), int(np.searchsorted(of[int(self.stream[awaited])], awaited)) + 1))
        for number, other in joins:
            awaited = int(self.place_of_step[other])
            stream = int(self.stream[awaited])
            found.append((int(self.place_of_step[number]), stream, int(np.searchsorted(of[stream], awaited)) + 1))
        kept = [(place, stream, count) for place, stream, count in found if of[stream][count - 1] < place]
        self.unordered = len(found) - len(kept)
        return np.array(kept, _NEED)

    def times(
        self, model: device.DeviceModel, begin_ns: int, moved_ns: Integers, held: Integers, held_ns: Integers
    ) -> tuple[Integers, Integers]:
        """Computes when each step is issued and completed on a device, in ns, in the order in which the steps were given.

        All streams begin at `begin_ns`. `moved_ns` has for each tick the time by which the alarms of its gap come later. The
        steps `held` wait for `held_ns` more.
        """
        due_ns = self.due_ns.copy()
        due_ns[self.place_of_step[held]] += held_ns
        for is_moved in (False, True):
            chosen = [number for number, alarm in enumerate(self._alarms) if (alarm.gap is not None) == is_moved]
            at = [self._alarms[n].at_ns + (int(moved_ns[gap]) if (gap := self._alarms[n].gap) is not None else 0) for n in chosen]
            rising = np.maximum.accumulate(np.array([begin_ns, *at], np.int64))
            due_ns[self._places[chosen]] = np.diff(rising)
        steps = device.Steps(self.stream, due_ns, self.counts, self._needs)
        ops, offsets, lengths = self.requests.T
        issued_ns, completed_ns = device.simulate_streams(model, steps, ops, offsets, lengths, is_closed=True)
        return begin_ns + issued_ns[self.place_of_step], begin_ns + completed_ns[self.place_of_step]


def _ranks(steps: Sequence[Step]) -> list[int]:
    """Returns ranks by which steps at the same time are ordered: what others wait for comes first, within a stream in order."""
    ranks: list[int] = []
    last: dict[int, tuple[int, int]] = {}
    for step in steps:
        at_ns, before = last.get(step.stream, (-1, 0))
        rank = 2 if step.wakers or step.alarm is not None else 1
        rank = max(rank, before) if at_ns == step.at_ns else rank
        last[step.stream] = step.at_ns, rank
        ranks.append(rank)
    return ranks
