"""The native simulator against a slow one in exact fractions, and what the cost model must obey."""

from fractions import Fraction

import checkpoint_oracle as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk._native import Updates
from tickdisk.saving import checkpoint
from tickdisk.saving.checkpoint.model import UNITS_PER_S
from tickdisk.saving.checkpoint.simulate import WORK

NAMES = ("tick", "begin", "pause", "written", "objects", "copied", "is_full")
cost = st.integers(0, 40)
write = st.builds(int.__mul__, st.integers(0, 3), st.sampled_from([1, 693, 27_720]))


Case = tuple[list[list[int]], int, int, tuple[int, ...], tuple[bool, ...], int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    object_cells, objects = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    cell = st.integers(0, object_cells * objects - 1)
    ticks = draw(st.lists(st.lists(cell, max_size=12), min_size=1, max_size=25))
    # Phases of spread updates are whole units when the tick's length divides by all counts of updates.
    tick = draw(st.integers(1, 4)) * 27_720
    costs = (
        tick,
        draw(cost),
        draw(cost),
        draw(cost),
        draw(cost),
        draw(write),
        draw(write),
        draw(st.sampled_from([0, 1, 20_000, 60_000])),
        draw(write),
    )
    return ticks, object_cells, objects, costs, draw(st.tuples(*[st.booleans()] * 6)), draw(st.integers(1, 6))


@settings(max_examples=150, deadline=None)
@given(cases())
def test_the_native_simulator_agrees_exactly_with_the_oracle(case: Case) -> None:
    ticks, object_cells, objects, costs, readings, full_every = case
    cells = np.array([cell for tick in ticks for cell in tick], dtype="<u4").tobytes()
    runs = [(number, costs, readings, full_every) for number in range(6)]
    updates = Updates.recorded(objects * object_cells, [len(tick) for tick in ticks], cells)
    _, _, _, packed = updates.simulate(runs, len(ticks) + 3, object_cells)  # type: ignore[arg-type]
    model = oracle.Model(*(Fraction(value) for value in costs), *readings, full_every)  # type: ignore[arg-type]
    for algorithm, (_, tick_bytes, checkpoint_bytes) in zip(checkpoint.ALGORITHMS, packed, strict=True):
        lengths, expected = oracle.simulate(algorithm, objects, object_cells, ticks, model)
        found = np.frombuffer(tick_bytes, "<u8").reshape(len(ticks), -1)[:, 1:]
        assert found.tolist() == [[*both, *(work[name] for name in WORK)] for *both, work in lengths], algorithm
        table = [dict(zip(NAMES, row, strict=True)) for row in np.frombuffer(checkpoint_bytes, "<u8").reshape(-1, 7).tolist()]
        assert table == [{name: getattr(one, name) for name in NAMES} for one in expected], algorithm


def outcomes(rate: int, ticks: int = 130, **readings: object) -> dict[str, checkpoint.Outcome]:
    read = checkpoint.Readings(**readings)  # type: ignore[arg-type]
    runs = [checkpoint.Simulation(algorithm, readings=read) for algorithm in checkpoint.ALGORITHMS]
    found = checkpoint.simulate(checkpoint.ZipfTrace(rate), runs, ticks=ticks)
    return dict(zip(checkpoint.ALGORITHMS, found, strict=True))


def test_naive_snapshot_costs_the_same_at_every_rate() -> None:
    slow, fast = (outcomes(rate)["naive_snapshot"] for rate in (1_000, 32_000))
    assert slow.ticks.equals(fast.ticks)
    assert slow.checkpoints.equals(fast.checkpoints)
    state, costs = checkpoint.State(), checkpoint.Costs()
    copy_s = state.objects * state.object_bytes / costs.memory_bytes_per_s + costs.copy_start_ns / 1e9
    assert slow.checkpoints["pause_ms"].to_numpy() == pytest.approx(1e3 * copy_s, rel=1e-5)
    # 78,125 objects of 512 bytes at 60 MB/s are 2/3 s, which is 20 ticks: not 21
    assert slow.checkpoints["tick"].tolist() == [0, 20, 40, 60, 80, 100]
    assert slow.checkpoint_s == pytest.approx(2 / 3 + copy_s)
    assert slow.recovery_s == pytest.approx(4 / 3 + copy_s)


@pytest.mark.parametrize("rate", [1_000, 16_000])
def test_what_must_hold_at_any_rate(rate: int) -> None:
    found = outcomes(rate)
    objects = checkpoint.State().objects
    for algorithm, outcome in found.items():
        done = outcome.checkpoints
        assert (outcome.ticks["length_ms"] - outcome.ticks["overhead_ms"]).to_numpy() == pytest.approx(1e3 / 30)
        assert (done["objects"] <= objects).all()
        assert (done["copied"] <= done["objects"]).all(), "an old value is saved at most once a checkpoint"
        assert (done["end_s"] >= done["begin_s"]).all()
        if algorithm in checkpoint.COPY_ON_UPDATE:
            assert (done["pause_ms"] == 0).all()
    # what changed in one checkpoint's time is no more than what changed in two
    assert found["copy_on_update"].checkpoints["copied"].sum() <= found["dribble_and_copy_on_update"].checkpoints["copied"].sum()
    more = outcomes(2 * rate)
    # Not the log-based dirty-object methods: with more to write they checkpoint less often.
    for algorithm in ("dribble_and_copy_on_update", "atomic_copy_dirty_objects", "copy_on_update"):
        assert more[algorithm].overhead_ms > found[algorithm].overhead_ms


def test_c_bounds_how_far_back_recovery_reads() -> None:
    few, many = (outcomes(1_000, 300, full_every=count)["partial_redo"] for count in (3, 12))
    assert few.recovery_s != many.recovery_s
    assert many.checkpoint_s < few.checkpoint_s, "fewer of them are full"
    kept = few.checkpoints
    partial = kept.loc[~kept["is_full"], "objects"].mean()
    restored = (3 * partial + checkpoint.State().objects) * 512 / 60e6
    assert kept["recovery_s"].to_numpy() == pytest.approx(restored + (kept["end_s"] - kept["begin_s"]).to_numpy())
    assert kept["is_full"].tolist() == [index % 3 == 2 for index in range(len(kept))]


def test_units_are_whole_for_the_papers_setting() -> None:
    tick, group, _, lock, bit, write, passed, sync, _ = checkpoint.Costs().units(512)
    assert (tick, group, lock, bit, sync) == (UNITS_PER_S // 30, 300_000, 435_000, 6_000, 0)
    assert Fraction(write, UNITS_PER_S) == Fraction(512, 60_000_000)
    assert passed == write


def test_methods_that_copy_dirty_objects_at_once_cost_more_than_a_full_copy_at_an_extreme_rate() -> None:
    """Every update tests a bit: 256,000 of 2 ns are half a millisecond of each tick. The published excess is 60 %."""
    names: tuple[checkpoint.Algorithm, ...] = ("naive_snapshot", "atomic_copy_dirty_objects", "partial_redo")
    added_ms = {}
    for bit_ns in (0, 2):
        runs = [checkpoint.Simulation(name, checkpoint.Costs(bit_ns=bit_ns)) for name in names]
        outcomes = checkpoint.simulate(checkpoint.ZipfTrace(256_000, 0.8, 42), runs, ticks=61)
        added_ms[bit_ns] = [outcome.overhead_ms for outcome in outcomes]
    full, *eager = added_ms[2]
    assert all(each >= 1.3 * full for each in eager)
    assert [each - without for each, without in zip(eager, added_ms[0][1:], strict=True)] == pytest.approx([0.512] * 2)
