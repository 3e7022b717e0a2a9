"""The calibrated cost model and the advice, on numbers that are known."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk import device
from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving import checkpoint, store
from tickdisk.saving.checkpoint import State
from tickdisk.saving.store.calibrated import whole, work
from tickdisk.saving.store.trial import life_summary, phases, trials

MACHINE = store.CostParameters(
    state_bytes=4_000_256, copy_all_ns=800_000, copy_random_ns=150, lock_ns=3, bit_ns=0.5, disk_bytes_per_s=20e6
)
DESIGN = store.TrialDesign(
    Path("nowhere"),
    State(rows=100_000),
    rates=(500, 8_000),
    algorithms=checkpoint.ALGORITHMS,
    save_s=2,
    rest_s=1,
    cycles=1,
)
TRUE = {"begun": 9_000.0, "copied": 260.0, "saved": 330.0, "tested": 1.5, "handed": 2.5, "marked": 0.9}


def made_up(design: store.TrialDesign, true: store.Calibrated) -> pd.DataFrame:
    """Trials as a machine with known terms would give them."""
    found = store.predict(true, design, design.algorithms)
    return found.assign(own_ms=found["calibrated_ms"], checkpoint_s=found["calibrated_s"], pass_ns=true.pass_ns, objects=1_000.0)


def test_terms_are_found_again_from_trials_at_other_rates() -> None:
    terms = dict.fromkeys(store.TERMS, 0.0) | TRUE
    true = store.Calibrated(machine=MACHINE, terms_ns=terms, pass_ns=700, sync_ms=12)
    fit = replace(DESIGN, rates=(700, 3_000, 12_000), seed=7)
    found = store.calibrate(MACHINE, fit, made_up(fit, true))
    assert (found.pass_ns, found.sync_ms) == pytest.approx((700, 12), rel=1e-6)
    expected, again = (store.predict(one, DESIGN, DESIGN.algorithms)["calibrated_ms"] for one in (true, found))
    assert again.to_numpy() == pytest.approx(expected.to_numpy(), rel=0.02)


def test_terms_are_found_among_noise_that_is_as_often_half_as_twice() -> None:
    """Least squares of relative errors would be too low: with this noise by a third."""
    true = store.Calibrated(machine=MACHINE, terms_ns=dict.fromkeys(store.TERMS, 0.0) | TRUE, pass_ns=700, sync_ms=12)
    fit = replace(DESIGN, rates=(700, 1_500, 3_000, 6_000, 12_000, 24_000), seed=7)
    exact = made_up(fit, true)
    rows, columns = np.divmod(np.arange(len(exact)), len(fit.algorithms))
    noise = np.exp(0.6 * (-1.0) ** (rows + columns))
    found = store.calibrate(MACHINE, fit, exact.assign(own_ms=exact["own_ms"] * noise))
    expected, again = (store.predict(one, DESIGN, DESIGN.algorithms)["calibrated_ms"] for one in (true, found))
    assert np.exp(np.log(again / expected).mean()) == pytest.approx(1, abs=0.1)


def test_the_paper_s_overhead_is_its_work_times_its_costs() -> None:
    costs = MACHINE.costs(tick_hz=30, object_bytes=512)
    terms = {
        "groups": costs.copy_start_ns,
        "copied": 512 / costs.memory_bytes_per_s * 1e9,
        "tested": costs.bit_ns,
        "locked": costs.lock_ns,
        "saved": costs.copy_start_ns + 512 / costs.memory_bytes_per_s * 1e9,
    }
    plain = store.Calibrated(machine=MACHINE, terms_ns=terms, pass_ns=0, sync_ms=0)
    for name in checkpoint.ALGORITHMS:
        outcome = checkpoint.simulate(DESIGN.trace(8_000), [checkpoint.Simulation(name, costs, store.PAPER)], ticks=150)[0]
        own_ms = outcome.ticks["overhead_ms"][whole(outcome)].mean()
        assert plain.overhead_ms(work(outcome, DESIGN, 8_000)) == pytest.approx(own_ms, rel=1e-5), name  # times are whole units


def test_a_comparison_is_written_and_read_again(tmp_path: Path) -> None:
    true = store.Calibrated(machine=MACHINE, terms_ns=dict.fromkeys(store.TERMS, 0.0) | TRUE, pass_ns=700, sync_ms=12)
    tested = made_up(replace(DESIGN, one_by_one=True), true).assign(life=0, slower=0.0)
    store.write_comparison(store.ModelComparison(true, tested, tested), tmp_path)
    again = store.read_comparison(tmp_path)
    assert again.calibrated == true
    pd.testing.assert_frame_equal(again.tested, tested)
    rows = again.summary(0.05)
    assert rows["within"].tolist() == rows["rates"].tolist() == [2] * 6
    assert rows["ranks"].to_numpy() == pytest.approx(1)
    with pytest.raises(TickdiskError, match=r"calibrated\.json does not exist"):
        store.read_comparison(tmp_path / "nowhere")


def test_how_much_slower_updates_are_beside_a_writer() -> None:
    lives = pd.DataFrame({"slower": [0.1, 0.2, float("nan"), 0.3]})
    true = store.Calibrated(machine=MACHINE, terms_ns=dict.fromkeys(store.TERMS, 0.0), pass_ns=700, sync_ms=12)
    share = store.ModelComparison(true, lives, lives).slower(0.05)
    half = 4.302653 * 0.1 / 3**0.5  # Student's t for 2 degrees of freedom
    assert (share.value, share.low, share.high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))
    assert share.n == 3


def ticks_and_checkpoints(spans: list[tuple[int, int]], ticks: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ticks of 10 ns from tick 101 on; checkpoints begin at the end of a tick and end before another begins."""
    made = [(100 + first, 10 * first + 8, 10 * last + 9) for first, last in spans]
    table = pd.DataFrame({"tick": range(101, 101 + ticks), "begin_ns": range(10, 10 + 10 * ticks, 10)})
    return table, pd.DataFrame(made, columns=["tick", "begin_ns", "end_ns"])


def test_whole_checkpoints_after_a_rest_count_and_the_rest_without_any() -> None:
    design = replace(DESIGN, tick_hz=1, warm_up_s=3, save_s=12, rest_s=5, cycles=1)
    table, made = ticks_and_checkpoints([(1, 2), (5, 6), (7, 8), (9, 10), (12, 13), (15, 17)], 20)
    saving, written, resting = phases(table, made, design)
    # Warm-up 1 to 3, saves 4 to 15, rests 16 to 20; the third of this cycle begins at the end of tick 9, the last at that of 15.
    assert (table["tick"][saving] - 100).tolist() == list(range(10, 16))
    assert (table["tick"][written] - 100).tolist() == [10, 13], "the first after the beginning of the fourth, and of the fifth"
    assert (table["tick"][resting] - 100).tolist() == [18, 19, 20], "the last one was written until tick 17 was over"
    saving, written, resting = phases(table, made.iloc[:4], design)
    assert not saving.any(), "three in this cycle: the third has no end"
    assert not written.any()
    assert resting.sum() == 5
    saving, written, resting = phases(table, made.iloc[:0], design)
    assert (saving.sum(), written.sum(), resting.sum()) == (0, 0, 5)


def test_what_the_algorithm_does_is_told_from_what_a_writer_slows(tmp_path: Path) -> None:
    design = replace(DESIGN, tick_hz=1, warm_up_s=3, save_s=12, rest_s=5, cycles=1)
    table, made = ticks_and_checkpoints([(1, 2), (5, 6), (7, 8), (9, 10), (12, 13), (15, 17)], 20)
    saving, written, _ = phases(table, made, design)
    ms = 1_000_000
    table = table.assign(shadow_ns=4 * ms, pause_ns=0, update_ns=5 * ms)
    table.loc[written, ["shadow_ns", "update_ns"]] = [6 * ms, 9 * ms]  # a half slower, and 3 ms are the algorithm's
    table.loc[saving & (table["tick"] == 115), "pause_ns"] = 7 * ms
    made = made.assign(objects=10, write_ns=5_000)
    life = store.StoreLife(store.Setting("calc", tmp_path), 0, 120, table, made, memory_bytes=10**9)
    row = life_summary(life, 0.5, design)
    # Six ticks count: 10 to 15, of which a checkpoint is being written as 10 and 13 begin.
    assert row["own_ms"] == pytest.approx((3 + 1 + 1 + 3 + 1 + 8) / 6)
    assert row["beside_ms"] == pytest.approx(2 * 2 / 6)
    assert row["added_ms"] == pytest.approx(row["own_ms"] + row["beside_ms"])
    assert row["longest_ms"] == pytest.approx(8 + row["beside_ms"])
    assert (row["slower"], row["bare_ms"], row["null_ms"]) == pytest.approx((0.5, 4, 1))
    idle = life_summary(replace(life, checkpoints=made.iloc[:0]), 0.5, design)
    assert idle["bare_ms"] == pytest.approx(4)
    assert all(math.isnan(idle[name]) for name in ("own_ms", "added_ms", "longest_ms", "slower"))


def test_a_study_compares_one_by_one_and_plays_games_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[store.Setting] = []

    def watched(setting: store.Setting) -> store.StoreLife:
        played.append(setting)
        return store.live(setting)

    monkeypatch.setattr("tickdisk.saving.store.trial.live", watched)
    design = replace(DESIGN, folder=tmp_path, state=State(rows=10_000), rates=[200])
    design = replace(design, tick_hz=200, warm_up_s=0.1, save_s=0.3, rest_s=0.1)
    disk = device.named("memory", Path("data/devices.yaml"))
    store.study(design, disk, fit_rates=[100], games=[store.Game("small", 10_000, 200, 0.8, 0.3, disk)], say=lambda _: None)
    assert [setting.one_by_one for setting in played] == [True] * 12 + [False] * 12


def test_a_folder_that_is_tried_keeps_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/world").write_text("mine")
    design = store.TrialDesign(
        tmp_path, State(rows=10_000), [100], ["fork"], tick_hz=200, warm_up_s=0.1, save_s=0.3, rest_s=0.1, cycles=1
    )
    found = trials(design, lambda _: None)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["store", "store/world"]
    assert found["whole"].iloc[0] > 0


def test_trials_say_what_an_algorithm_adds(tmp_path: Path) -> None:
    """With pauses that the game waits for, and a checkpoint of all that there is."""
    design = store.TrialDesign(
        tmp_path, State(rows=400_000), rates=[2_000], algorithms=["naive_snapshot", "zigzag"], tick_hz=50, warm_up_s=1, cycles=1
    )
    said: list[str] = []
    found = trials(design, said.append).set_index("algorithm")
    assert len(said) == len(found) == 2
    naive = found.loc["naive_snapshot"]
    assert naive["objects"] == State(rows=400_000).objects
    assert naive["bytes"] == naive["objects"] * 528
    assert naive["pause_ms"] > 0
    assert naive["bare_ms"] > 0
    assert naive["recovery_s"] > 0
    assert naive["memory_bytes"] > 2 * 16e6
    assert list(tmp_path.iterdir()) == []


trial = st.fixed_dictionaries(
    {
        "added_ms": st.floats(-0.01, 20),
        "longest_ms": st.floats(0, 40),
        "recovery_s": st.floats(0.01, 10),
        "memory_bytes": st.floats(1e6, 1e9),
    }
)


@settings(max_examples=200, deadline=None)
@given(st.lists(trial, min_size=1, max_size=12), st.floats(0.1, 30), st.floats(1e6, 1e9))
def test_advice_is_never_beaten_on_its_own_terms(rows: list[dict[str, float]], limit_ms: float, memory: float) -> None:
    found = pd.DataFrame(rows).assign(algorithm=[f"a{number}" for number in range(len(rows))], life=0)
    advice = store.advise(found, limit_ms=limit_ms, memory_bytes=memory)
    own = found.set_index("algorithm").loc[advice.algorithm]
    fits = found[found["memory_bytes"] <= memory]
    if fits.empty:
        assert own["memory_bytes"] == found["memory_bytes"].min()
        return
    assert own["memory_bytes"] <= memory
    kept = fits[fits["longest_ms"] <= limit_ms]
    assert advice.keeps == (not kept.empty)
    if kept.empty:
        assert own["longest_ms"] == fits["longest_ms"].min()
        return
    assert own["longest_ms"] <= limit_ms
    assert own["added_ms"] <= max(1.1 * kept["added_ms"].min(), kept["added_ms"].min() + 0.05, 0.05)
    better = kept[(kept["added_ms"] <= own["added_ms"]) & (kept["longest_ms"] <= own["longest_ms"])]
    assert not (better["recovery_s"] < own["recovery_s"]).any()


def _costs(algorithm: str, life: int, added_ms: float, longest_ms: float, recovery_s: float) -> dict[str, object]:
    return {
        "algorithm": algorithm, "life": life, "added_ms": added_ms, "longest_ms": longest_ms, "recovery_s": recovery_s,
        "memory_bytes": 1e6,
    }  # fmt: skip


def test_advice_weighs_the_longest_tick_before_the_recovery() -> None:
    found = pd.DataFrame([_costs("spiky", 0, 1, 9, 0.1), _costs("even", 0, 1.04, 2, 0.5), _costs("also_even", 0, 1.04, 2.2, 0.4)])
    assert store.advise(found, limit_ms=10).algorithm == "also_even"


def test_lives_that_disagree_decide_nothing() -> None:
    lives = [_costs("a", life, 1 if life else 3, 1, 1) for life in range(3)] + [_costs("b", life, 2, 1, 1) for life in range(3)]
    advice = store.advise(pd.DataFrame(lives), limit_ms=10)
    assert (advice.by_lives, advice.is_decided, advice.algorithm) == ({"b": 1, "a": 2}, False, "a")
    agreed = store.advise(pd.DataFrame(lives[1:3] + lives[4:]), limit_ms=10)
    assert (agreed.by_lives, agreed.is_decided, agreed.algorithm) == ({"a": 2}, True, "a")


def test_advice_does_not_say_that_ticks_got_shorter() -> None:
    row = {"life": 0, "longest_ms": 0.1, "recovery_s": 1.0, "memory_bytes": 1e6}
    found = pd.DataFrame([{"algorithm": "a", "added_ms": -0.003, **row}, {"algorithm": "b", "added_ms": 2.5, **row}])
    assert store.advise(found, limit_ms=1).why.startswith(
        "it adds no measurable time to a tick on average and 0.10 ms at the most"
    )
    assert store.advise(found.iloc[1:], limit_ms=1).why.startswith("it adds 2.500 ms to a tick")
