"""Writes the steps of one thread from what happened in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tickdisk.blame import NONE, Integers
from tickdisk.foundation.waiting import TimeKind
from tickdisk.predict.locks import Behind
from tickdisk.predict.program import Alarm, Step
from tickdisk.predict.requests import Requests, Wave

WAIT, CUT, TICK = range(3)
"""Kinds of events: a wait begins, the thread wakes another one, a tick begins."""
_IDLE_NS = 200_000
"""Shortest wait before a tick in which the thread was idle."""
_AFTER_IDLE_NS = 3_000_000
"""Longest time from the end of an idle wait to the start of the tick for which it waited."""


@dataclass(frozen=True)
class Event:
    """Something that happens in a thread at a time. The last four fields are those of a wait."""

    at_ns: int
    what: int
    """One of WAIT, CUT and TICK."""
    row: int = NONE
    """Row of the wait in the table of waits, or number of the tick."""
    end_ns: int = 0
    kind: str = ""
    """One of `TimeKind`."""
    waker: int = NONE
    """Thread that handed a lock over, as a number of a stream."""


@dataclass
class TickClock:
    """The ticks of a capture, with what the steps of the thread that ticks say of them."""

    starts_ns: Integers
    """Captured start of each tick, in the order of time."""
    behind: Mapping[int, Behind]
    """Reasons of the waits behind locks, by the row of the wait."""
    steps: list[int] = field(default_factory=list)
    """Step that is completed when each tick starts."""
    lent: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Block requests of a holder of a lock that steps of the thread wait for, by their rows."""
    idle_from_ns: list[int] = field(default_factory=list)
    idle_until_ns: list[int] = field(default_factory=list)
    """Start and end of each wait in which the thread had nothing to do."""

    def awaited(self, start_ns: int, end_ns: int) -> int | None:
        """Returns the number of the tick for which a wait of the thread that ticks ended, or None if it ended for none."""
        after = int(np.searchsorted(self.starts_ns, start_ns, side="right"))
        is_idle = end_ns - start_ns >= _IDLE_NS and after < self.starts_ns.size
        return after if is_idle and int(self.starts_ns[after]) - end_ns < _AFTER_IDLE_NS else None


class ThreadWriter:
    """Writes the steps of one thread behind those of others. `take` takes what happens in it, in the order of time.

    The thread that ticks waits behind a lock for as long as its holder's requests take. Other threads wait until their waker has
    come as far as in the capture.
    """

    def __init__(self, steps: list[Step], lane: int, begin_ns: int, requests: Requests, clock: TickClock | None) -> None:
        """Begins to write. `clock` is given for the thread that ticks."""
        self._steps, self._lane, self._now_ns, self._requests, self._clock = steps, lane, begin_ns, requests, clock
        self._due_ns = 0
        """Time that the thread has computed since its last step."""
        self._gap: int | None = None if clock is None else 0
        self.followed = self.kept = 0
        """Numbers of waits for storage with and without block requests."""

    def take(self, event: Event) -> None:
        """Takes what happens next."""
        if event.what == WAIT:
            if event.end_ns > self._now_ns:
                self._wait(event, max(event.at_ns, self._now_ns))
            return
        is_running = event.at_ns > self._now_ns
        if is_running:
            self._compute_until(event.at_ns)
        if event.what == TICK:
            self._tick(event.row)
        elif is_running:
            self._step(self._now_ns)

    def _compute_until(self, at_ns: int) -> None:
        self._due_ns += at_ns - self._now_ns
        self._now_ns = at_ns

    def _step(self, at_ns: int, wakers: tuple[tuple[int, int], ...] = (), alarm: Alarm | None = None) -> int:
        self._steps.append(Step(self._lane, at_ns, self._due_ns, (), wakers, alarm))
        self._due_ns = 0
        return len(self._steps) - 1

    def _tick(self, number: int) -> None:
        # A tick that another thread began has been written with the wait during which it began.
        if self._clock is not None and number == len(self._clock.steps):
            self._gap = number
            self._clock.steps.append(self._step(self._now_ns))

    def _wait(self, event: Event, start_ns: int) -> None:
        self._compute_until(start_ns)
        self._now_ns = event.end_ns
        if waves := self._requests.waves_of(event.row):
            self._wait_for_storage(event, start_ns, waves)
        elif event.kind in (TimeKind.RUN_QUEUE, TimeKind.IO):
            self.kept += int(event.kind == TimeKind.IO)
            self._due_ns += event.end_ns - start_ns
        else:
            self._wait_for_others(event, start_ns)

    def _wait_for_others(self, event: Event, start_ns: int) -> None:
        """Writes a wait for another thread, or for something outside the program."""
        if self._due_ns:
            self._step(start_ns)
        behind = None if self._clock is None else self._clock.behind.get(event.row)
        tick = None if self._clock is None else self._clock.awaited(start_ns, event.end_ns)
        if self._clock is not None and (tick is not None or behind is None or behind.is_event):
            self._clock.idle_from_ns.append(start_ns)
            self._clock.idle_until_ns.append(event.end_ns)
        if tick is not None:
            self._wait_for_tick(tick, event.end_ns)
        elif behind is not None and behind.waves:
            self._wait_for_holder(event, start_ns, behind.waves)
        elif behind is not None and not behind.is_event:
            self._due_ns += max(0, event.end_ns - start_ns - behind.recreated_ns)
        elif behind is None and event.waker != NONE:
            self._step(event.end_ns, wakers=((event.waker, event.end_ns),))
        else:
            self._step(event.end_ns, alarm=Alarm(event.end_ns, self._gap))

    def _wait_for_tick(self, tick: int, end_ns: int) -> None:
        """Writes a wait for the timer of a tick, whoever passed the timer's signal on.

        On Minestom another thread begins the tick, and wakes this one when it has done its own part, which keeps its time.
        """
        begin_ns = end_ns if self._clock is None else min(end_ns, int(self._clock.starts_ns[tick]))
        step = self._step(begin_ns, alarm=Alarm(begin_ns, tick))
        if self._clock is not None and begin_ns < end_ns and tick == len(self._clock.steps):
            self._gap = tick
            self._clock.steps.append(step)
        self._due_ns += end_ns - begin_ns

    def _wait_for_holder(self, event: Event, start_ns: int, waves: Sequence[Wave]) -> None:
        """Writes a wait for a holder of a lock that makes requests. It takes as long as these take."""
        cursor_ns = start_ns
        for wave in waves:
            self._due_ns += max(0, wave.begin_ns - cursor_ns)
            cursor_ns = max(cursor_ns, wave.begin_ns) + wave.nominal_ns
            step = self._step(min(event.end_ns, cursor_ns))
            if self._clock is not None:
                self._clock.lent[step] = wave.rows
        self._due_ns = max(0, event.end_ns - cursor_ns)

    def _wait_for_storage(self, event: Event, start_ns: int, waves: Sequence[Wave]) -> None:
        """Writes a wait for block requests, wave after wave. Its rest is the kernel's time, which stays."""
        self.followed += 1
        cursor_ns = start_ns
        for wave in waves:
            self._due_ns += max(0, wave.begin_ns - cursor_ns)
            own, others = self._requests.claimed(event.row, wave)
            cursor_ns = max(cursor_ns, wave.begin_ns) + wave.nominal_ns
            at_ns = min(event.end_ns, cursor_ns)
            self._steps.append(Step(self._lane, at_ns, self._due_ns, [self._requests.asked[row] for row in own]))
            self._requests.made(own, len(self._steps) - 1)
            self._due_ns = 0
            if others:
                self._requests.shared(others, self._step(at_ns))
        self._due_ns = max(0, event.end_ns - cursor_ns)
