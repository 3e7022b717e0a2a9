"""The goroutine that ticks, in made times with their truth, and in a program of Go whose functions have Dragonfly's names."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_blame_threads import evidence

from tickdisk import blame, trace
from tickdisk.foundation.waiting import TimeKind
from tickdisk.trace.process import Finished

MS = 1_000_000
WAKER, NAME = 9, "world goroutine"


@dataclass
class Story:
    """The events of a goroutine that moves between the threads 1 to 3, the waits of the threads, and the truth."""

    rng: np.random.Generator
    now_ns: int = 0
    thread: int = 1
    events: list[tuple[str, int, int, int]] = field(default_factory=list)
    waits: list[tuple[int, str, int, int, str]] = field(default_factory=list)
    truth: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TimeKind, 0))
    left: dict[int, int] = field(default_factory=dict)

    def event(self, name: str, thread: int | None = None) -> None:
        self.events.append((name, self.now_ns, self.thread if thread is None else thread, 77))

    def spend(self, kind: TimeKind, low_ms: float, high_ms: float) -> None:
        ns = round(self.rng.uniform(low_ms, high_ms) * MS)
        self.truth[kind] += ns
        self.now_ns += ns

    def wait(self, kind: TimeKind) -> None:
        """The goroutine waits together with its thread."""
        begun_ns = self.now_ns
        self.spend(kind, 0.2, 3)
        self.waits.append((self.thread, "go", begun_ns, self.now_ns, kind))

    def move(self) -> None:
        """It gets a thread, of which each slept while it was not the goroutine's."""
        self.left.setdefault(self.thread, self.now_ns)
        self.thread = int(self.rng.integers(1, 4))
        begun_ns = self.left.pop(self.thread, 0)
        if begun_ns < self.now_ns:
            self.waits.append((self.thread, "go", begun_ns, self.now_ns, TimeKind.SLEEP))
        self.event("on")

    def park(self, kind: TimeKind, low_ms: float, high_ms: float) -> None:
        self.event("park")
        self.left[self.thread] = self.now_ns
        begun_ns = self.now_ns
        self.spend(kind, low_ms, high_ms)
        if kind is TimeKind.LOCK:
            self.waits.append((WAKER, "saver", begun_ns, self.now_ns, TimeKind.IO))
        self.event("ready", WAKER)
        self.spend(TimeKind.RUN_QUEUE, 0.01, 0.5)
        self.move()

    def give_way(self) -> None:
        self.event("yield")
        self.left[self.thread] = self.now_ns
        self.spend(TimeKind.RUN_QUEUE, 0.1, 2)
        self.move()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), pieces=st.lists(st.text("ciolyq", min_size=1, max_size=6), min_size=3, max_size=15))
def test_a_goroutine_is_explained_over_all_its_threads(seed: int, pieces: list[str]) -> None:
    """Each letter is a step of a piece of work: it computes, sleeps or waits for storage with its thread, is parked or yields."""
    story = Story(np.random.default_rng(seed))
    story.event("on")
    ticks: list[int] = []
    for steps in pieces:
        story.event("run")
        story.event("tick")
        if not ticks:
            story.truth = dict.fromkeys(TimeKind, 0)
        ticks.append(story.now_ns)
        told = dict(story.truth)
        for step in steps:
            story.spend(TimeKind.RUNNING, 0.1, 1)
            if step == "i":
                story.wait(TimeKind.IO)
            elif step == "q":
                story.wait(TimeKind.RUN_QUEUE)
            elif step == "l":
                story.park(TimeKind.LOCK, 1, 20)
            elif step == "y":
                story.give_way()
        story.event("done")
        story.park(TimeKind.SLEEP, 5, 40)
    # Each thread also waits before, because threads that are not in the table belong to another process.
    own = evidence(*[(thread, "go", -2, -1, "sleep") for thread in (1, 2, 3, WAKER)], *story.waits)
    waits = own.waits.assign(waker=own.waits["waker"].astype("Int64"), waker_name=own.waits["waker_name"].astype(object))
    # Another process runs the same program, and its goroutine has done more work, perhaps at the same place in its memory.
    other = [(name, at_ns, thread + 100, goroutine) for name, at_ns, thread, _ in story.events for goroutine in (77, 88, 88)]
    columns = ["event", "at_ns", "thread", "goroutine"]
    events = pd.DataFrame(story.events + other, columns=columns).sort_values("at_ns", kind="stable")
    made = blame.with_goroutine(replace(own, waits=waits), events, NAME, 50 * MS)
    found = blame.attribute(made).ticks
    assert found["start_ns"].tolist() == ticks[:-1]
    assert found["gap_ns"].sum() == ticks[-1] - ticks[0]
    for kind in (TimeKind.IO, TimeKind.RUN_QUEUE, TimeKind.RUNNING, TimeKind.SLEEP):
        assert found[f"{kind}_ns"].sum() == pytest.approx(told[kind], abs=1000), kind
    assert found["lock_storage_ns"].sum() == pytest.approx(told[TimeKind.LOCK], abs=1000)


def test_a_goroutine_that_is_parked_at_the_end_of_a_capture_is_not_late_and_ticks_outside_do_not_count() -> None:
    """It ticks at 30, 80 and 130 ms, and once before the capture and once after it. Then the server ends."""
    rows = []
    for at in range(-20, 181, 50):
        rows += [("on", at * MS, 1, 77), ("run", at * MS, 1, 77), ("tick", at * MS, 1, 77)]
        rows += [("done", (at + 5) * MS, 1, 77), ("park", (at + 6) * MS, 1, 77), ("ready", (at + 49) * MS, 1, 77)]
    events = pd.DataFrame(rows[:-1], columns=["event", "at_ns", "thread", "goroutine"])
    waits = [(1, "go", (at + 6) * MS, (at + 50) * MS, "sleep") for at in range(-20, 181, 50)]
    own = replace(evidence(*waits), captured_ns=(0, 170 * MS))
    made = blame.with_goroutine(own, events, NAME, 50 * MS)
    assert made.ticks is not None
    assert made.ticks["start_ns"].tolist() == [30 * MS, 80 * MS, 130 * MS]
    assert made.waits.loc[made.waits["thread_name"] == NAME, "end_ns"].max() == 170 * MS
    last = made.waits[made.waits["thread_name"] == NAME].iloc[-1]
    assert (last["kind"], last["start_ns"]) == ("sleep", 136 * MS)


def test_events_of_several_cores_are_read_in_the_order_of_time() -> None:
    raw = b"on 5000 7 77\nbeat 0 0 1 0 0 0 0\nrun 7000 7 77\ntick 6500 7 77\npark 90"
    events = trace.read_goroutines(raw, Finished(ended_ns=0, clock_offset_ns=1000, lost_printed=0))
    assert events["event"].tolist() == ["on", "tick", "run"]
    assert events["at_ns"].tolist() == [4000, 5500, 6000]


def test_a_capture_in_which_no_goroutine_ticks_stays_as_it_is() -> None:
    own = evidence((1, "go", 0, MS, "sleep"))
    events = pd.DataFrame([("run", 5, 1, 77)], columns=["event", "at_ns", "thread", "goroutine"])
    assert blame.with_goroutine(own, events, NAME, 50 * MS) is own
