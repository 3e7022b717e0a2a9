"""Tick and action metrics from tables: every number against one worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk.foundation.errors import TickdiskError
from tickdisk.qos import (
    action_metrics,
    contrasts_by_life,
    epoch_table,
    gaps,
    gaps_ms,
    instability_ratio,
    latencies_ms,
    requests_table,
    tick_metrics,
)

MS = 1_000_000
BUDGET = 90 * MS


def ticks(starts_ms, numbers=None, busy_ms=None):
    starts = [round(start * MS) for start in starts_ms]
    ends = (
        [None] * len(starts)
        if busy_ms is None
        else [start + round(busy * MS) for start, busy in zip(starts, busy_ms, strict=True)]
    )
    frame = pd.DataFrame(
        {"tick": range(len(starts)) if numbers is None else numbers, "start_ns": starts, "end_ns": ends, "players": 5}
    )
    return frame.astype({"tick": "int64", "start_ns": "int64", "end_ns": "Int64"})


def actions(rows):
    frame = pd.DataFrame(rows, columns=["action", "due_ms", "issued_ms", "completed_ms", "outcome"])
    nullable = {
        f"{name}_ns": (frame[f"{name}_ms"].astype("Float64") * MS).round().astype("Int64") for name in ("issued", "completed")
    }
    return pd.DataFrame(
        {
            "player": "p000",
            "action": frame["action"],
            "due_ns": (frame["due_ms"] * MS).astype("int64"),
            **nullable,
            "outcome": frame["outcome"],
            "detail": "",
        }
    )


def test_a_steady_server():
    found = tick_metrics(ticks(np.arange(0, 20_000, 90)), 0, 18_000 * MS, BUDGET)
    assert (found.n, found.gap_mean_ms, found.gap_p50_ms, found.gap_p95_ms, found.gap_max_ms) == (200, 90, 90, 90, 90)
    assert (found.over_budget_share, found.instability_ratio, found.missing, found.duplicate, found.late) == (0, 0, 0, 0, 0)
    assert found.tps == pytest.approx(1000 / 90)
    assert (found.busy_n, found.mspt_p50_ms, found.mspt_max_ms) == (0, None, None)


def test_a_gap_belongs_to_the_window_it_starts_in_and_is_counted_once():
    table = ticks([0, 90, 180, 580, 670, 760])
    first, second = tick_metrics(table, 0, 300 * MS, BUDGET), tick_metrics(table, 300 * MS, 900 * MS, BUDGET)
    assert (first.n, first.gap_max_ms, first.late) == (3, 400, 1)
    assert (second.n, second.gap_max_ms) == (2, 90)
    assert first.n + second.n == len(table) - 1
    assert gaps_ms(table, 90 * MS, 580 * MS).tolist() == [90, 400]


def test_over_budget_needs_five_percent_and_late_two_budgets():
    found = tick_metrics(ticks(np.cumsum([0, 90, 94, 95, 179, 180])), 0, 10_000 * MS, BUDGET)
    assert found.over_budget_share == pytest.approx(3 / 5)
    assert found.late == 1


def test_missing_and_duplicated_ticks_are_counted_and_their_gap_is_kept():
    table = ticks([0, 90, 90.2, 360, 450], numbers=[7, 8, 8, 11, 12])
    found = tick_metrics(table, 0, 1000 * MS, BUDGET)
    assert (found.missing, found.duplicate, found.n, found.gap_max_ms) == (2, 1, 3, 270)
    # A skip over the end of a window counts where its gap starts.
    assert tick_metrics(table, 0, 200 * MS, BUDGET).missing == 2
    assert tick_metrics(table, 200 * MS, 1000 * MS, BUDGET).missing == 0
    assert gaps(table)["skipped"].tolist() == [0, 2, 0]


def test_busy_time_in_operators_words():
    found = tick_metrics(ticks(np.arange(0, 9000, 90), busy_ms=np.arange(1, 101)), 0, 9000 * MS, BUDGET)
    assert (found.busy_n, found.mspt_min_ms, found.mspt_max_ms) == (100, 1, 100)
    assert found.mspt_p50_ms == pytest.approx(50.5)
    assert found.mspt_p95_ms == pytest.approx(95 + 1 / 3 + 0.95 / 3, abs=0.05)


def test_what_the_sample_does_not_reach_is_none_and_never_the_maximum():
    found = tick_metrics(ticks(np.arange(0, 16 * 90, 90)), 0, 10_000 * MS, BUDGET)
    assert (found.n, found.gap_p50_ms, found.gap_p95_ms, found.gap_p99_ms) == (15, 90, None, None)
    empty = tick_metrics(ticks([0, 90]), 5000 * MS, 6000 * MS, BUDGET)
    assert (empty.n, empty.gap_mean_ms, empty.gap_p50_ms, empty.tps, empty.instability_ratio) == (0, None, None, None, None)


def test_instability_ratio_by_hand():
    # Changes of 60, 60, 0 over twice the time that ticks took.
    assert instability_ratio(np.array([90.0, 150.0, 90.0, 90.0]), 90) == pytest.approx(120 / (2 * 420))
    # Ticks within the budget count as the budget: no instability there.
    assert instability_ratio(np.array([20.0, 80.0, 50.0]), 90) == 0
    # Ever longer stalls alternating with good ticks tend to 1.
    assert instability_ratio(np.tile([90.0, 1e6], 2000), 90) == pytest.approx(1, abs=1e-3)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.1, 1e5), min_size=2, max_size=60), st.floats(0.5, 200), st.floats(0.01, 100))
def test_instability_ratio_is_a_share_without_unit(values, budget, scale):
    found = instability_ratio(np.array(values), budget)
    assert 0 <= found <= 1
    assert instability_ratio(np.array(values) * scale, budget * scale) == pytest.approx(found, abs=1e-9)


def test_in_a_window_without_a_tick_the_gap_that_covers_it_stands_for_all_of_it():
    table = ticks([0, 90, 5000, 5090])
    stalled = tick_metrics(table, 1000 * MS, 4000 * MS, BUDGET)
    assert (stalled.n, stalled.gap_mean_ms, stalled.gap_max_ms, stalled.tps) == (1, 4910, 4910, None)
    assert gaps_ms(table, 5100 * MS, 6000 * MS).size == 0


TAU = 1000 * MS


def test_latency_counts_from_the_due_time():
    # Ten pings due every second; the client is late for the last ones, the server takes 10 ms for each.
    rows = [("ping", 1000 * i, 1000 * i + late, 1000 * i + late + 10, "completed") for i, late in enumerate([0] * 8 + [500, 700])]
    found = action_metrics(actions(rows), 0, 10_000 * MS, "ping", TAU)
    assert (found.offered, found.completed, found.at_tau) == (10, 10, 0)
    assert found.mean_ms == pytest.approx(10 + 120)
    assert (found.offered_per_s, found.achieved_per_s) == (1, 1)


def test_actions_belong_to_the_window_they_are_due_in():
    rows = [("ping", due, due, due + 400, "completed") for due in (0, 500, 900, 1000)] + [("dig", 100, 100, 150, "completed")]
    assert latencies_ms(actions(rows), 0, 1000 * MS, "ping", TAU).tolist() == [400, 400, 400]
    assert action_metrics(actions(rows), 1000 * MS, 2000 * MS, "ping", TAU).offered == 1
    assert action_metrics(actions(rows), 0, 1000 * MS, "teleport", TAU).p50_ms is None


def test_late_timed_out_and_failed_actions_count_as_tau_and_are_counted():
    rows = [("teleport", i, i, i + 100 + i, "completed") for i in range(16)]
    rows += [("teleport", 20, 20, 5020, "completed")]
    rows += [("teleport", 21 + i, 21 + i, None, "timed_out") for i in range(4)] + [("teleport", 30, None, None, "failed")]
    found = action_metrics(actions(rows), 0, 1000 * MS, "teleport", TAU)
    assert (found.offered, found.completed, found.timed_out, found.failed, found.at_tau) == (22, 17, 4, 1, 6)
    assert found.mean_ms == pytest.approx((sum(100 + i for i in range(16)) + 6 * 1000) / 22)
    assert found.p95_ms == 1000
    assert found.achieved_per_s == 17


def test_a_completed_action_without_a_time_is_refused():
    with pytest.raises(TickdiskError, match="1 completed ping actions have no completed_ns"):
        latencies_ms(actions([("ping", 0, 1, None, "completed")]), 0, MS, "ping", TAU)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 5000), st.booleans()), min_size=1, max_size=40))
def test_the_mean_lies_between_nothing_and_tau_and_a_failure_never_lowers_it(rows):
    made = [("dig", due, due, due + took, "completed" if good else "failed") for due, took, good in rows]
    frame = actions(made)
    frame["completed_ns"] = frame["completed_ns"].mask(frame["outcome"] == "failed")
    mean = action_metrics(frame, 0, 1000 * MS, "dig", TAU).mean_ms
    assert 0 <= mean <= 1000
    worse = frame.assign(outcome="failed", completed_ns=pd.array([pd.NA] * len(frame), dtype="Int64"))
    assert action_metrics(worse, 0, 1000 * MS, "dig", TAU).mean_ms == 1000 >= mean


EPOCHS = pd.DataFrame(
    {
        "epoch": [0, 1, 2, 3],
        "arm": ["base", "slow", "slower", "again"],
        "device": "ssd",
        "setting": 0,
        "start_ns": [0, 10_000 * MS, 20_000 * MS, 30_000 * MS],
        "steady_ns": [4000 * MS, 14_000 * MS, 24_000 * MS, 34_000 * MS],
        "end_ns": [10_000 * MS, 20_000 * MS, 30_000 * MS, 40_000 * MS],
    }
)
STARTS = np.concatenate(
    [np.arange(0, 4000, 400), np.arange(4000, 10_000, 100), np.arange(10_000, 30_000, 200), np.arange(30_000, 40_100, 100)]
)
PINGS = [("ping", due, due, due + (50 if due < 10_000 or due >= 30_000 else 150), "completed") for due in range(0, 40_000, 250)]


def test_epoch_table_has_the_steady_part_of_every_epoch():
    table = epoch_table(ticks(STARTS), actions(PINGS), EPOCHS, life="3", budget_ns=BUDGET, tau_ns=TAU)
    assert table["gap_mean_ms"].tolist() == [100, 200, 200, 100]
    assert table["gap_n"].tolist() == [60, 30, 30, 60]
    assert table["ping_mean_ms"].tolist() == pytest.approx([50, 150, 150, 50])
    assert table["position"].tolist() == [0, 1, 2, 3]
    assert table["previous_arm"].tolist()[1:] == ["base", "slow", "slower"]
    assert pd.isna(table["previous_arm"].iloc[0])
    assert table["life"].tolist() == ["3"] * 4
    assert np.isnan(table["gap_p99_ms"]).all()
    ratios = contrasts_by_life(table, "gap_mean_ms", baseline="base", null="again")
    assert {arm: np.exp(values).tolist() for arm, values in ratios.items()} == {
        "again": pytest.approx([1]),
        "slow": pytest.approx([2]),
        "slower": pytest.approx([2]),
    }


def test_an_epoch_in_which_the_server_ended_has_the_worst_of_every_metric():
    ended = EPOCHS[EPOCHS["epoch"] <= 2]
    before = ticks(STARTS[STARTS < 25_000])
    table = epoch_table(before, actions(PINGS), ended, life=1, budget_ns=BUDGET, tau_ns=TAU, ended_epoch=2)
    assert table["gap_max_ms"].tolist() == [100, 200, 6000]
    assert table["gap_mean_ms"].tolist()[2] == 6000
    assert table["ping_mean_ms"].tolist() == pytest.approx([50, 150, 1000])


def lives(*rows):
    return pd.DataFrame(rows, columns=["life", "arm", "m"])


def test_a_life_that_lacks_an_arm_has_no_contrast_of_it_and_one_baseline_is_enough():
    table = lives((0, "a", 1.0), (0, "b", 4.0), (0, "x", 8.0), (1, "a", 2.0), (1, "b", np.nan), (1, "x", 8.0), (2, "a", 1.0))
    found = contrasts_by_life(table, "m", baseline="a", null="b")
    assert np.exp(found["x"]).to_dict() == pytest.approx({0: 4.0, 1: 4.0})
    assert np.exp(found["b"]).to_dict() == pytest.approx({0: 4.0})
    with pytest.raises(TickdiskError, match="no metric gap"):
        contrasts_by_life(table, "gap", baseline="a", null="b")


def test_where_a_life_has_no_baseline_those_of_the_other_lives_stand_in():
    table = lives((0, "a", 1.0), (0, "b", 1.0), (0, "x", 2.0), (1, "a", 4.0), (1, "b", 4.0), (1, "x", 8.0), (2, "x", 20.0))
    found = contrasts_by_life(table, "m", baseline="a", null="b")
    assert np.exp(found["x"]).to_dict() == pytest.approx({0: 2.0, 1: 2.0, 2: 10.0})
    assert list(found["b"].index) == [0, 1]
    assert contrasts_by_life(lives((0, "x", 2.0)), "m", baseline="a", null="b")["x"].empty


def test_an_arm_that_comes_twice_in_a_life_is_refused():
    table = lives((0, "a", 1.0), (0, "b", 1.0), (0, "x", 2.0), (0, "x", 4.0))
    with pytest.raises(TickdiskError, match="life 0 has the arm x in two epochs"):
        contrasts_by_life(table, "m", baseline="a", null="b")


def test_requests_are_counted_in_the_epoch_in_which_they_arrive():
    arrivals = [1000 * MS, 9999 * MS, 10_000 * MS, 45_000 * MS]
    device = pd.DataFrame({"arrival_ns": arrivals, "replied_ns": [arrival + 6 * MS for arrival in arrivals]})
    table = requests_table(device, EPOCHS, life=4)
    assert table["requests"].tolist() == [2, 1, 0, 0]
    assert table["latency_ms"].tolist()[:2] == [6, 6]
    assert table["latency_ms"].isna().tolist()[2:] == [True, True]


def test_an_epoch_without_a_steady_part_is_refused():
    broken = EPOCHS.assign(steady_ns=EPOCHS["end_ns"])
    with pytest.raises(TickdiskError, match="epoch 0 of life 1"):
        epoch_table(ticks([0, 90]), actions([("ping", 0, 0, 1, "completed")]), broken, life=1, budget_ns=BUDGET, tau_ns=TAU)
