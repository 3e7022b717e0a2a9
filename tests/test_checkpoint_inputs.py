"""Zipf traces against theory, the rules of Knights and Archers, recorded traces, and what is wrong in a file."""

import io
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving import checkpoint

SMALL = 40 * 128
KNIGHT, ARCHER, HEALER = range(3)


def drawn(rows: int, skew: float, *, is_scrambled: bool = False, updates: int = 200_000) -> np.ndarray:
    state = checkpoint.State(rows=rows, columns=10)
    _, packed = checkpoint.ZipfTrace(updates, skew, 5, is_scrambled, state=state).open().take(1)
    return np.frombuffer(packed, "<u4")


def grays_distribution(count: int, skew: float) -> np.ndarray:
    """P(rank <= r) of the generator, by inverting its formula: exact for the first two ranks, then a power law."""
    zeta = (np.arange(1, count + 1.0) ** -skew).sum()
    two = 1 + 0.5**skew
    eta = (1 - (2 / count) ** (1 - skew)) / (1 - two / zeta)
    ranks = np.arange(count)
    power = ((ranks + 1) / count) ** (1 - skew) / eta - 1 / eta + 1
    below = np.where(ranks == 0, 1 / zeta, np.where(ranks == 1, two / zeta, np.maximum(power, two / zeta)))
    return np.minimum(below, 1.0)


@pytest.mark.parametrize("skew", [0.0, 0.4, 0.8, 0.99])
def test_rows_and_columns_follow_grays_generator_and_are_near_zipf(skew: float) -> None:
    cells = drawn(1000, skew)
    for values, count in ((cells // 10, 1000), (cells % 10, 10)):
        expected = np.diff(grays_distribution(count, skew), prepend=0) * len(cells)
        seen = np.bincount(values, minlength=count)
        kept = expected >= 5
        chi2 = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        assert stats.chi2.sf(chi2, kept.sum() - 1) > 1e-4
        assert seen[~kept].sum() <= expected[~kept].sum() + 6 * np.sqrt(expected[~kept].sum() + 1)
        exact = np.cumsum((np.arange(1, count + 1.0) ** -skew) / (np.arange(1, count + 1.0) ** -skew).sum())
        if skew:
            exact = stats.zipfian.cdf(np.arange(1, count + 1), skew, count)
        assert np.abs(np.cumsum(seen) / len(values) - exact).max() < 0.04, "Gray's generator is an approximation"
    counts = np.zeros((10, 10))
    np.add.at(counts, (np.minimum(cells // 10, 9), cells % 10), 1)
    assert stats.chi2_contingency(counts + 1).pvalue > 1e-4, "row and column are independent"


def test_scrambled_rows_are_drawn_as_often_from_other_places() -> None:
    plain, scrambled = drawn(1000, 0.8) // 10, drawn(1000, 0.8, is_scrambled=True) // 10
    assert sorted(np.bincount(plain, minlength=1000)) == sorted(np.bincount(scrambled, minlength=1000))
    assert np.abs(np.diff(np.argsort(np.bincount(scrambled))[-2:])) > 100, "the two most drawn rows are far from each other"


def test_the_same_seed_gives_the_same_trace() -> None:
    first, again, other = (checkpoint.ZipfTrace(500, 0.8, seed).open().take(3) for seed in (1, 1, 2))
    assert first == again != other


@pytest.fixture(scope="module")
def game() -> tuple[list[np.ndarray], list[np.ndarray], pd.DataFrame, pd.DataFrame]:
    """200 ticks of a small game: updates and active units of each, the units before and after."""
    played = checkpoint.KnightsAndArchers(seed=3, units=SMALL)
    before, updates, active = played.units(), [], []
    for _ in range(200):
        active.append(played.active())
        updates.append(played.step())
    return updates, active, before, played.units()


def test_a_tenth_is_active_and_renewed_every_100_ticks(game: tuple) -> None:
    _, active, _, _ = game
    assert {len(np.unique(units)) for units in active} == {SMALL // 10}
    assert not set(active[0]) & set.intersection(*(set(units) for units in active[:100])), "all were relieved"
    assert len(np.unique(np.concatenate(active))) > 0.85 * SMALL, "the active are drawn from all"


def test_squads_kinds_and_teams(game: tuple) -> None:
    _, _, before, after = game
    fixed = ["team", "kind", "squad", "strength", "reach", "rest"]
    assert before[fixed].equals(after[fixed])
    assert (before.groupby("squad").size() == 64).all()
    assert pd.crosstab(before["squad"], before["kind"]).to_numpy().tolist() == [[32, 24, 8]] * (SMALL // 64)
    assert (before["team"] == before["squad"] % 2).all()
    alive = after[after["deaths"] == 0]
    spread = alive.groupby("squad")[["x", "y"]].std().mean().mean()
    assert spread < 8, "squads stay together"


def test_only_what_a_decision_changes_is_updated(game: tuple) -> None:
    updates, active, before, after = game
    columns = np.bincount(np.concatenate(updates) % 13, minlength=13)
    names = dict(zip(checkpoint.ATTRIBUTES, columns, strict=True))
    assert {name for name, count in names.items() if not count} == {"team", "kind", "squad", "strength", "reach", "rest"}
    own = {"ready_at", "target", "kills"}
    for cells, acting in zip(updates, active, strict=True):
        units, attributes = cells // 13, cells % 13
        mine = np.isin(attributes, [checkpoint.ATTRIBUTES.index(name) for name in own])
        assert np.isin(units[mine], acting).all(), "a resting unit does nothing by itself"
        assert np.isin(units[~mine], acting).any()
    assert names["deaths"] == after["deaths"].sum() > 0
    assert names["kills"] == after["kills"].sum() == after["deaths"].sum()
    assert after["health"].between(1, 100).all()
    by_kind = after.groupby("kind")["kills"].sum()
    assert by_kind[KNIGHT] > 0
    assert by_kind[HEALER] == 0
    moved = (after["x"] != before["x"]) | (after["y"] != before["y"])
    assert moved.mean() > 0.5


def test_a_game_gives_the_trace_that_it_plays() -> None:
    played = checkpoint.KnightsAndArchers(seed=9, units=SMALL)
    counts, packed = checkpoint.GameTrace(9, SMALL).open().take(5)
    steps = [played.step() for _ in range(5)]
    assert counts == [len(step) for step in steps]
    assert np.array_equal(np.frombuffer(packed, "<u4"), np.concatenate(steps))
    assert not np.array_equal(checkpoint.KnightsAndArchers(seed=10, units=SMALL).step(), steps[0])


@pytest.mark.parametrize("units", [0, 64, 1000])
def test_a_game_of_half_squads_is_refused(units: int) -> None:
    with pytest.raises(TickdiskError, match=r"give a multiple of 128"):
        checkpoint.KnightsAndArchers(units=units)


def test_a_recorded_trace_is_the_same_from_parquet_and_npz(tmp_path: Path) -> None:
    frame = pd.DataFrame({"tick": [7, 5, 5, 9], "cell": [3, 600, 2, 3]})
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", tick=frame["tick"], cell=frame["cell"])
    for name in ("t.parquet", "t.npz"):
        trace = checkpoint.load_trace(tmp_path / name)
        assert trace.counts.tolist() == [2, 0, 1, 0, 1]
        assert trace.cells.tolist() == [600, 2, 3, 3]
        assert (trace.state.rows, trace.state.objects) == (601, 5)
        outcome = checkpoint.simulate(trace, [checkpoint.Simulation("copy_on_update")], ticks=99)[0]
        assert (outcome.updates, len(outcome.ticks)) == (4, 5)


def test_what_is_wrong_in_a_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"none.npz does not exist"):
        checkpoint.load_trace(tmp_path / "none.npz")
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(TickdiskError, match=r"bad.parquet is not a Parquet"):
        checkpoint.load_trace(tmp_path / "bad.parquet")
    np.savez(tmp_path / "a.npz", tick=[1.5], cell=[1])
    with pytest.raises(TickdiskError, match=r"whole numbers"):
        checkpoint.load_trace(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", tick=[1], cell=[50])
    with pytest.raises(TickdiskError, match=r"cells are 0 to 9"):
        checkpoint.load_trace(tmp_path / "b.npz", checkpoint.State(rows=1, columns=10))


@pytest.mark.parametrize(
    ("ticks", "cells", "message"),
    [
        ([1_722_000_000_000_000_000, 1_722_000_000_040_000_000], [3, 7], "ticks .* look like times"),
        ([1_722_000_000, 1_722_000_001], [3, 7], "ticks .* look like times"),
        ([0, 10**9], [3, 7], "ticks .* look like times"),
        (np.array([0, 2**63 + 5], np.uint64), [3, 7], "ticks .* look like times"),
        ([-1, 0], [3, 7], "ticks .* look like times"),
        ([0, 1], [3, 2**32 - 1], "a state of 4,294,967,296 cells is too large"),
        ([0, 1], np.array([3, 2**63 + 5], np.uint64), "is too large"),
        (np.array(["2026-11-28T00:00:00.1"] * 2, "datetime64[ns]"), [3, 7], "must be whole numbers"),
        ([True, False], [3, 7], "must be whole numbers"),
        ([[0, 1]], [[3, 7]], "must be whole numbers"),
        (np.array([0, 1], object), [3, 7], "not an .npz file with the arrays"),
    ],
)
def test_times_and_other_arrays_are_refused_before_memory_is_asked_for(
    tmp_path: Path, ticks: npt.ArrayLike, cells: npt.ArrayLike, message: str
) -> None:
    np.savez(tmp_path / "t.npz", tick=np.asarray(ticks), cell=np.asarray(cells))
    with pytest.raises(TickdiskError, match=message):
        checkpoint.load_trace(tmp_path / "t.npz")


def test_arrays_larger_than_memory_are_refused(tmp_path: Path) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<i8", "fortran_order": False, "shape": (1 << 50,)})
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as file:
        for name in ("tick", "cell"):
            file.writestr(f"{name}.npy", head.getvalue() + bytes(16))
    with pytest.raises(TickdiskError, match="larger than the memory"):
        checkpoint.load_trace(tmp_path / "t.npz")


def test_a_state_of_too_many_cells_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", tick=[1], cell=[50])
    with pytest.raises(TickdiskError, match="too large"):
        checkpoint.load_trace(tmp_path / "t.npz", checkpoint.State(rows=1 << 31, columns=2))


def test_a_captured_life_gives_the_pages_that_it_wrote(tmp_path: Path) -> None:
    pd_ticks = pd.DataFrame({"tick": range(3), "start_ns": [100, 200, 300], "end_ns": None, "players": 1, "thread": None})
    table.write("ticks", tmp_path / "ticks.parquet", pd_ticks)
    rows = [(50, "a", 0, 512), (150, "a", 0, 1024), (160, "b", 700, 10), (310, "a", 512, 1), (320, "a", 0, -1)]
    frame = pd.DataFrame(rows, columns=["start_ns", "file", "offset", "result"])
    frame = frame.assign(seq=range(5), level="syscall", op="write", call="pwrite64", latency_ns=1, thread=1, thread_name="t")
    frame = frame.assign(process=1, length=frame["result"], errno=0, data="terrain")
    table.write("requests", tmp_path / "requests.parquet", frame)
    trace = checkpoint.trace_of_life(tmp_path)
    assert trace.counts.tolist() == [3, 0, 1]
    assert trace.cells.tolist() == [0, 1, 2, 1]
    assert (trace.state.objects, trace.state.object_cells) == (3, 1)
    table.write("requests", tmp_path / "requests.parquet", frame.assign(op="read"))
    with pytest.raises(TickdiskError, match=r"no write of a file during a tick"):
        checkpoint.trace_of_life(tmp_path)
