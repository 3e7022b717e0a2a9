"""Which thread of a capture is explained: the one that runs a loop, and not one that only waits for others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk import blame
from tickdisk.blame.evidence import CaptureEvidence
from tickdisk.blame.threads import threads
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError

MS = 1_000_000
SECONDS_NS = 12_000 * MS


def waits_of(*rows: tuple[int, str, int, int, str]) -> pd.DataFrame:
    """Returns a waits table of thread, name, start, end, kind."""
    frame = pd.DataFrame(rows, columns=["thread", "thread_name", "start_ns", "end_ns", "kind"])
    nobody = pd.array([pd.NA] * len(frame), dtype="Int64")
    return frame.assign(call="", waker=nobody, waker_name=None).sort_values("start_ns", ignore_index=True)


def looping(
    thread: int, name: str, period_ms: float, busy_ms: float, rng: np.random.Generator, kind: str = "sleep"
) -> list[tuple[int, str, int, int, str]]:
    """Sleeps to the end of each period, after work that varies by a tenth."""
    rows, at = [], 0.0
    while at < SECONDS_NS / MS - period_ms:
        begun = at + busy_ms * rng.uniform(0.9, 1.1)
        at += period_ms
        rows.append((thread, name, round(begun * MS), round(at * MS), kind))
    return rows


def at_random(thread: int, name: str, rng: np.random.Generator) -> list[tuple[int, str, int, int, str]]:
    """Sleeps and works for times without any rhythm."""
    rows, at = [], 0
    while True:
        begun = at + round(rng.exponential(9 * MS))
        at = begun + round(rng.exponential(3 * MS)) + 1
        if at > SECONDS_NS:
            return rows
        rows.append((thread, name, begun, at, "sleep"))


def evidence(*rows: tuple[int, str, int, int, str]) -> CaptureEvidence:
    requests = pd.DataFrame({name: [] for name in table.SCHEMAS["requests"].names})
    return CaptureEvidence("life", requests, waits_of(*rows), (0, SECONDS_NS))


@settings(max_examples=15, deadline=None)
@given(
    period_ms=st.sampled_from([16, 50, 90, 250]),
    share=st.floats(0.05, 0.7),
    seed=st.integers(0, 99),
    waits=st.sampled_from(["sleep", "lock"]),
)
def test_a_loop_is_found_with_its_period(period_ms: int, share: float, seed: int, waits: str) -> None:
    """A server can wait for its next turn in a timer or at a condition variable, which looks like a lock."""
    rng = np.random.default_rng(seed)
    found = threads(evidence(*looping(1, "Server", period_ms, share * period_ms, rng, waits), *at_random(2, "worker", rng)))
    assert found["name"].tolist() == ["Server", "worker"], "the loop comes first, however busy the other is"
    assert found["period_ns"].iloc[0] == pytest.approx(period_ms * MS, abs=1.5 * MS)
    assert np.isnan(found["period_ns"].iloc[1])
    assert found["running_ns"].iloc[0] / found["seen_ns"].iloc[0] == pytest.approx(share, rel=0.1)


@settings(max_examples=15, deadline=None)
@given(
    period_ms=st.sampled_from([16, 50, 90]),
    late=st.sets(st.integers(20, 100), max_size=4),
    seed=st.integers(0, 99),
)
def test_turns_of_a_loop_are_ticks_and_a_turn_that_took_long_is_late(period_ms: int, late: set[int], seed: int) -> None:
    """The loop rests at the end of each turn, and within turns it often waits for less. After a late turn it rests at once."""
    rng = np.random.default_rng(seed)
    rows, starts, at = [], [], 0
    for turn in range(120):
        starts.append(at)
        busy_ns = round(0.4 * period_ms * MS * rng.uniform(0.8, 1.2)) + (3 * period_ms * MS if turn in late else 0)
        begun = at + busy_ns
        paused = [at + round(part * busy_ns) for part in rng.uniform(0.1, 0.8, size=rng.integers(0, 3))]
        rows += [(1, "Server", pause, pause + MS // 100, "sleep") for pause in paused]
        at = starts[-1] + period_ms * MS * (1 + (begun - starts[-1]) // (period_ms * MS))
        rows.append((1, "Server", begun, at, "sleep"))
    explained = blame.attribute(evidence(*rows, *at_random(2, "worker", rng)))
    assert explained.budget_ns == period_ms * MS
    assert explained.ticks["start_ns"].tolist() == starts[1:]
    assert explained.ticks.loc[explained.ticks["slow"], "start_ns"].tolist() == [starts[turn] for turn in sorted(late)]


def test_a_thread_without_a_loop_is_explained_in_seconds() -> None:
    explained = blame.attribute(evidence(*at_random(1, "worker", np.random.default_rng(3))))
    assert (explained.budget_ns, len(explained.ticks)) == (None, 12)


def test_times_are_told_apart_and_a_wait_for_a_thread_makes_nobody_busy() -> None:
    rows = [
        (1, "waiter", 0, 900 * MS, "lock"),
        (1, "waiter", 950 * MS, 1000 * MS, "sleep"),
        (2, "worker", 100 * MS, 200 * MS, "io"),
        (2, "worker", 300 * MS, 340 * MS, "run_queue"),
        (2, "worker", 990 * MS, 1000 * MS, "sleep"),
        (2, "worker", 1000 * MS, 5000 * MS, "absent"),
    ]
    found = threads(evidence(*rows)).set_index("name")
    assert found.index.tolist() == ["worker", "waiter"]
    assert found.loc["worker", ["seen_ns", "running_ns", "io_ns", "run_queue_ns", "busy_ns"]].tolist() == [
        900 * MS,
        750 * MS,
        100 * MS,
        40 * MS,
        790 * MS,
    ]
    assert found.loc["waiter", ["lock_ns", "busy_ns"]].tolist() == [900 * MS, 50 * MS]


def test_blame_explains_the_loop_unless_another_thread_is_named_and_lists_the_threads() -> None:
    rng = np.random.default_rng(5)
    own = evidence(*looping(1, "Server", 50, 10, rng), *at_random(2, "worker", rng))
    assert blame.attribute(own).thread_name == "Server"
    assert blame.attribute(own, thread="worker").thread_name == "worker"
    with pytest.raises(TickdiskError, match=r"no wait of nobody was captured \(threads: Server, worker\)"):
        blame.attribute(own, thread="nobody")
    explained = blame.attribute(own)
    shares = blame.shares([explained], rng=rng, samples=50, alpha=0.05)
    screen = "\n".join(blame.screen([explained], shares, [], alpha=0.05, top=2, reasons=[]))
    head = "2 threads, the explained one first; --thread NAME explains another:\n  Server: loops every 50 ms, computing "
    assert float(screen.partition(head)[2].split(" %")[0]) == pytest.approx(20, abs=1)
    assert "the program tells no ticks: these are the turns of the thread's loop, which it begins every 50 ms" in screen
    assert "95 % interval over ticks, from this capture alone, which says nothing of another hour" in screen
    assert "lives that an interval" not in screen


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 99), late=st.sets(st.integers(5, 100), max_size=5))
def test_a_thread_that_wakes_for_packets_too_ticks_at_the_pace_of_another(seed: int, late: set[int]) -> None:
    """A step begins at the first packet after it is due. It computes for 5 ms, or for 300 ms, in which three more are due."""
    rng = np.random.default_rng(seed)
    rows, starts, at, due = [], [], 0.0, 90.0
    while at < SECONDS_NS / MS - 500:
        begun, at = at, at + rng.uniform(5, 25)
        rows.append((2, "Server", round(begun * MS), round(at * MS), "lock"))
        if at >= due:
            starts.append(round(at * MS))
            at += 300 if len(starts) in late else 5
            due = 90 * (starts[-1] / MS // 90 + 1)
        at += 0.1
    pacer = looping(1, "main", 90, 0.5, rng)
    found = blame.attribute(evidence(*rows, *pacer), thread="Server", pacer=1)
    assert found.budget_ns == pytest.approx(90 * MS, rel=0.001)
    ticks = found.evidence.ticks
    assert ticks is not None
    known = ticks["start_ns"].tolist()
    assert known == [start for start in starts if start >= known[0]][: len(known)]
    slow = set(found.ticks.loc[found.ticks["slow"], "start_ns"])
    assert slow == {starts[number - 1] for number in late if number < len(known)}


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 99), late=st.sets(st.integers(5, 100), max_size=5))
def test_a_thread_ticks_when_a_scheduler_wakes_it(seed: int, late: set[int]) -> None:
    """The scheduler halves its rests until a turn is due. After a turn that took long, it rests for what is left of the next."""
    rng = np.random.default_rng(seed)
    rows, wakes, starts, at, due = [], [], [], 0.0, 50.0
    while due < SECONDS_NS / MS - 1000:
        begun = at
        while due - at > 1:
            rest = max(1.0, (due - at) / 2)
            rows.append((1, "scheduler", round(at * MS), round((at + rest) * MS), "lock"))
            at += rest + 0.02
        starts.append(rows[-1][3])
        wakes.append((2, "Ms-Tick-0", round(begun * MS), round((due + 0.2) * MS), "lock"))
        at = due + (130 if len(starts) in late else rng.uniform(4, 9))
        due = 50 * (at // 50 + 1) if at - due > 50 else due + 50
    made = evidence(*rows, *wakes)
    waker = pd.array([1 if thread == 2 else pd.NA for thread in made.waits["thread"]], dtype="Int64")
    made = replace(made, waits=made.waits.assign(waker=waker, waker_name="scheduler"))
    found = blame.attribute(made, thread="Ms-Tick-0", period_ns=50 * MS, pacer=1)
    ticks = found.evidence.ticks
    assert ticks is not None
    assert set(ticks["start_ns"]) >= set(starts[:-1])
    assert len(ticks) <= len(starts) + len(late) + 1
    slow = set(found.ticks.loc[found.ticks["slow"], "start_ns"])
    assert slow == {starts[number - 1] for number in late}
