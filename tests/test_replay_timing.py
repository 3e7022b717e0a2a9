"""Lag and time lost: hand-made cases, and any schedule against a loop that is written down from the definition."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk import replay

_TIMES = st.integers(0, 1000)


def test_what_the_device_delays_and_what_the_issuer_does() -> None:
    # due 0, 10, 20, 100; the first takes 25, then the issuer is 3 late for the second, on time for the third, 2 late for the last
    issued, completed = [0, 28, 30, 102], [25, 30, 31, 110]
    lag, lost = replay.lateness(replay.ready_ns([7, 7, 7, 7], completed), [0, 10, 20, 100], issued)
    assert lag.tolist() == [0, 3, 0, 2]
    assert lost.tolist() == [0, 15, 10, 0]
    assert replay.behind_ns([7, 7, 7, 7], [0, 10, 20, 100], lost) == 15 + 5


@st.composite
def _schedules(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Stream, due, lateness of the issuer, service time; dues ascend over all streams, as in a plan."""
    rows = draw(st.lists(st.tuples(st.integers(0, 3), _TIMES, st.integers(0, 20), st.integers(0, 300)), min_size=1, max_size=60))
    due = 0
    schedule = []
    for stream, step, late, service in rows:
        due += step
        schedule.append((stream, due, late, service))
    return schedule


@given(_schedules())
def test_lag_is_the_issuers_and_lost_the_devices(schedule: list[tuple[int, int, int, int]]) -> None:
    """The oracle is a loop over the definition: issued at max(due, previous completion) + lateness of the issuer."""
    free: dict[int, int] = {}
    waiting: dict[int, set[int]] = {}
    expected, rows = [], []
    for stream, due, late, service in schedule:
        possible = max(due, free.get(stream, 0))
        issued = possible + late
        waiting.setdefault(stream, set()).update(range(due, possible))
        free[stream] = issued + service
        expected.append((late, possible - due))
        rows.append((stream, due, issued, free[stream]))
    stream, due, issued, completed = np.array(rows).T
    lag, lost = replay.lateness(replay.ready_ns(stream, completed), due, issued)
    assert list(zip(lag.tolist(), lost.tolist(), strict=True)) == expected
    assert (issued - due).tolist() == (lag + lost).tolist()
    assert replay.behind_ns(stream, due, lost) == sum(len(instants) for instants in waiting.values())


def test_a_summary_splits_by_tenths_and_leaves_out_what_is_not_known() -> None:
    n = 3000
    lag = np.concatenate([np.full(300, 10), np.full(2400, 20), np.full(300, 30)])
    frame = pd.DataFrame({"thread": 1, "due_ns": np.arange(n) * 1000, "lost_ns": 0, "result": 4, "expected": 4})
    frame = frame.assign(issued_ns=frame["due_ns"] + lag, lag_ns=pd.array(lag, dtype="Int64"))
    frame["completed_ns"] = frame["issued_ns"] + 5
    summary = replay.summarise(frame)
    assert [found.p50 for found in (summary.lag_first_tenth_ns, summary.lag_last_tenth_ns)] == pytest.approx([10, 30])
    assert (summary.lag_ns.max, summary.delayed, summary.streams) == (30, 0, 1)
    frame.loc[frame.index[1000:], "lag_ns"] = pd.NA
    summary = replay.summarise(frame)
    assert (summary.lag_unknown, summary.lag_ns.max) == (2000, 20)
    assert replay.summarise(frame.head(50)).lag_ns.p99 is None, "50 requests have no 99th percentile"
