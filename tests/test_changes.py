"""Changes of a server: the plan, and the analysis of lives with a known gain of a change and a known loss of a power cut."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from simulated_runs import BASE_MS, DELAY_MS, SECOND, cells_of, config_of, write_runs

from tickdisk import qos, server
from tickdisk.config import Cell, Config, arms_of_run, load_arms, load_config
from tickdisk.experiment import AGAIN, CHANGES, CUT, DELAYED, SAVE_PERIODS, STUDIES, UNCHANGED, PlannedLife
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import Project
from tickdisk.project.project import left_out
from tickdisk.server import place_apart
from tickdisk.studies import changes
from tickdisk.studies.changes.compute import METRICS, SAVE_GAP, Results
from tickdisk.studies.study import Study

SLOW_MS = 150.0
"""A slow disk makes every gap so much longer where nothing is changed."""
LEFT = {"sqlite_synchronous_0": 0.1, "leveldb": 0.5, "players_apart": 1.0, "rare_saves": 1.05, "synced_saves": 2.0}
"""The part of that which a change leaves."""
LOST_S = {
    UNCHANGED: 1.5,
    "sqlite_synchronous_0": 4.5,
    "leveldb": 3.0,
    "players_apart": 1.5,
    "rare_saves": 6.0,
    "synced_saves": 0.0,
}
"""Play that a power cut loses. The world does not open after the first cut of a life without synchronous writes."""
Gap = Callable[[str, int], float]


def gap_of(life: PlannedLife) -> Gap:
    """Returns the gap of a life in an arm. Blocks differ in their level."""
    left = 1.0 if life.change is None else LEFT[life.change]
    slow_ms = {"ssd_100us": 0.0, "latency_6ms": SLOW_MS * left, "both_delays": SLOW_MS + 2 * DELAY_MS}
    return lambda arm, block: (BASE_MS + slow_ms[arm]) * (1 + 0.1 * block)


def cuts_of(life: PlannedLife, name: str) -> dict[str, pd.DataFrame]:
    """Returns the tables of the power cuts of a life. An edit is acknowledged every 0.25 s, and the last ones are lost."""
    cuts, remains = [], []
    for number, due_s in enumerate(life.cuts_s):
        cut_ns = round((due_s + 1) * SECOND)
        is_open = not (name == "sqlite_synchronous_0" and number == 0)
        outcome = "opened" if is_open else "no_player"
        row = {"cut": number, "due_ns": cut_ns - 3_000_000, "cut_ns": cut_ns, "late_ns": 3_000_000, "outcome": outcome}
        row |= {"keep_share": life.keep_shares[number], "pages_dropped": 5, "pages_kept": 0}
        cuts.append(row | {"tries": 1, "absent": 0, "detail": ""})
        for place in range(40):
            ago_ns = round(place * SECOND / 4)
            seen = ("placed" if ago_ns > LOST_S[name] * SECOND else "air") if is_open else None
            edit = {"x": place, "y": 1, "z": 2, "issued_ns": cut_ns - ago_ns - 50, "acknowledged_ns": cut_ns - ago_ns}
            remains.append({"cut": number, "player": "p000", "seen": seen, **edit})
    return {"cuts": pd.DataFrame(cuts), "remains": pd.DataFrame(remains)}


def with_places(life: PlannedLife, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Adds placed blocks, which take as long as teleports, and the tables of power cuts."""
    actions = made["actions"]
    placed = actions[actions["action"] == "teleport"].assign(action="place")
    cut = cuts_of(life, life.name.removeprefix(CUT)) if life.cuts_s else {}
    return {**made, "actions": pd.concat([actions, placed]), **cut}


def write(folder: Path, name: str, **options: Any) -> Path:
    return write_runs(folder, "changes", server=name, gap_of=gap_of, of_life=with_places, **options)


def study_of(path: Path) -> Study[Results]:
    return changes(str(path), runs=str(path.parent), margin=None, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("changes")
    for name in ("luanti", "dragonfly"):
        write(folder, name)
    return folder


@pytest.fixture(scope="module")
def known(folder: Path) -> Study[Results]:
    return study_of(folder / "plan.json")


def verdicts(study: Study[Results]) -> dict[str, str]:
    return {claim.id.partition(".")[2]: claim.verdict for claim in study.statement.claims}


# The plan


def planned(name: str = "luanti", scale: str = "paper") -> list[Cell]:
    return cells_of(config_of(scale, None), "changes", name)


@pytest.mark.parametrize("name", ["luanti", "dragonfly", "minestom"])
@pytest.mark.parametrize("scale", ["smoke", "paper", "full"])
def test_every_change_of_the_configuration_exists_and_has_a_life_in_each_block(name: str, scale: str) -> None:
    design = config_of(scale, None).chosen.design(CHANGES, name)
    assert set(design.changes) <= set(server.SERVERS[name].changes)
    for cell in planned(name, scale):
        compared = {life.name for life in cell.lives if not life.cuts_s}
        assert compared == {UNCHANGED, AGAIN, DELAYED, *design.changes}
        cut = {life.name for life in cell.lives if life.cuts_s}
        assert cut == ({f"{CUT}{each}" for each in (UNCHANGED, *design.changes)} if cell.block < design.cut_lives else set())
        assert {life.trace_seed for life in cell.lives} == {cell.lives[0].trace_seed}
        # All lives that are compared have the same epochs, so that only the change differs.
        spans = {
            tuple((epoch.start_s, epoch.steady_s, epoch.end_s) for epoch in life.epochs) for life in cell.lives if not life.cuts_s
        }
        assert len(spans) == 1
        assert len({life.epochs[0].arm == "ssd_100us" for life in cell.lives if not life.cuts_s}) == 1
    if scale != "smoke":
        first = [next(life for life in cell.lives if life.name == UNCHANGED).epochs[0].arm for cell in planned(name, scale)]
        assert first.count("ssd_100us") * 2 == len(first), "either disk comes first in half of the blocks"


def test_thirty_power_cuts_fall_anywhere_in_a_save_period_after_linux_has_written() -> None:
    for name in (UNCHANGED, "rare_saves"):
        lives = [life for cell in planned() for life in cell.lives if life.name == f"{CUT}{name}"]
        period_s = 5.3 * SAVE_PERIODS.get(name, 1.0)
        phases = np.array([(due_s - life.epochs[0].start_s - 35) / period_s for life in lives for due_s in life.cuts_s])
        assert len(phases) == 30
        assert ((phases >= 0) & (phases <= 1)).all()
        # Ten draws in a tenth each would be too even for chance; a Kolmogorov distance of 0.3 has p = 0.006.
        assert np.abs(np.sort(phases) - (np.arange(30) + 0.5) / 30).max() < 0.3
        assert all(life.save_period_s == pytest.approx(period_s) for life in lives)
        assert all(due_s < life.epochs[0].end_s for life in lives for due_s in life.cuts_s), "no cut comes too late to be made"


def test_half_of_the_power_cuts_of_a_life_keep_half_of_what_was_not_flushed() -> None:
    lives = [life for cell in planned() for life in cell.lives if life.cuts_s]
    assert {tuple(sorted(life.keep_shares)) for life in lives} == {(0.0,) * 5 + (0.5,) * 5}
    assert len({life.keep_shares for life in lives}) > 1, "which ones is drawn"


def test_the_study_runs_alone() -> None:
    arms, config = load_arms(), load_config()
    assert STUDIES["changes"].runs_alone
    assert not [arm for arm in arms_of_run(arms, None) if arm.experiment == "changes"]
    assert {arm.experiment for arm in arms_of_run(arms, "changes")} == {"changes"}
    assert "STUDY=changes" in left_out(config, arms, {})["changes"]
    alone = config.model_copy(update={"study": "changes"})
    assert "changes" not in left_out(alone, arms, {})
    assert set(left_out(alone, arms, {})) == set(STUDIES) - {"changes"}


def test_a_change_that_the_server_does_not_have_is_named_before_anything_runs() -> None:
    values = load_config().model_dump(mode="json") | {"study": "changes"}
    scale = values["scales"][values["scale"]]
    scale["servers"]["minestom"]["changes"]["changes"] = ["synced_saves", "faster"]
    with pytest.raises(TickdiskError, match="changes on minestom: there is no change faster; take one of saves_in_tick, synced"):
        Project.of(values)


# Files on another device


def test_files_that_lie_apart_are_moved_and_links_are_set_anew(tmp_path: Path) -> None:
    world, first, second = (tmp_path / name for name in ("world", "first", "second"))
    for folder in (world, first, second):
        folder.mkdir()
    (world / "players").write_text("two players")
    place_apart(world, ["players", "accounts"], first)
    (world / "accounts").write_text("made through the link")
    assert ((first / "players").read_text(), (first / "accounts").read_text()) == ("two players", "made through the link")
    (second / "players").write_text("after a cut")
    place_apart(world, ["players", "accounts"], second)
    assert (world / "players").read_text() == "after a cut"
    assert not (world / "accounts").exists(), "what the other disk lost is not taken from elsewhere"
    assert (first / "players").read_text() == "two players"


# The longest gap of a save


def test_the_longest_gap_of_a_save_is_a_mean_over_windows() -> None:
    # Gaps of 100 ms; one of 400 ms in the first second, and one of 250 ms in the third.
    starts, at = [], 0
    while at < 4 * SECOND:
        starts.append(at)
        at += {500_000_000: 400_000_000, 2_400_000_000: 250_000_000}.get(at, 100_000_000)
    ticks = pd.DataFrame({"tick": range(len(starts)), "start_ns": starts, "end_ns": starts})
    assert qos.longest_by_window_ms(ticks, 0, 3 * SECOND, SECOND) == pytest.approx((400 + 100 + 250) / 3)
    assert qos.longest_by_window_ms(ticks, 0, 3 * SECOND - 500, SECOND) == pytest.approx(250), "rounding loses no window"
    assert qos.longest_by_window_ms(ticks, 0, 3 * SECOND, 3 * SECOND) == 400
    assert np.isnan(qos.longest_by_window_ms(ticks, 0, SECOND // 2, SECOND))


# The analysis


def test_the_ratio_of_ratios_of_each_change_is_the_known_one(known: Study[Results]) -> None:
    for part in known.results.servers:
        for name in part.changes:
            expected = (BASE_MS + LEFT[name] * SLOW_MS) / (BASE_MS + SLOW_MS)
            for metric in ("gap_mean_ms", SAVE_GAP, "teleport_mean_ms", "place_mean_ms"):
                effect = part.contrasts[metric, name]
                assert effect.n == 6
                assert effect.ratio == pytest.approx(expected, rel=0.04), (name, metric)
                assert effect.low < expected * 1.03
                assert effect.high > expected * 0.97


def test_verdicts_say_which_change_helps_and_which_does_not(known: Study[Results]) -> None:
    found = verdicts(known)
    for metric in ("gap_save", "gap_mean", "teleport_mean", "place_mean"):
        assert found[f"luanti.sqlite_synchronous_0.{metric}"] == found[f"luanti.leveldb.{metric}"] == "different"
        assert found[f"luanti.players_apart.{metric}"] == "equivalent"
        assert found[f"luanti.{AGAIN}.{metric}"] == "equivalent"
        assert found[f"luanti.{DELAYED}.{metric}"] == "different"
        assert found[f"dragonfly.synced_saves.{metric}"] == "different"
    facts = known.statement.facts
    assert facts["changes.luanti.slow.gap_mean.leveldb"].value == pytest.approx((BASE_MS + 0.5 * SLOW_MS) * 1.25, rel=0.03)
    assert facts["changes.luanti.fast.gap_mean.leveldb"].value == pytest.approx(BASE_MS * 1.25, rel=0.03)


def test_a_power_cut_loses_the_known_time_and_edits(known: Study[Results]) -> None:
    facts = known.statement.facts
    for name, seconds in LOST_S.items():
        part = "dragonfly" if name == "synced_saves" else "luanti"
        lost = facts[f"changes.{part}.lost_s.{name}"]
        assert lost.value == pytest.approx(seconds)
        opened = 30 - 3 * (name == "sqlite_synchronous_0")
        assert facts[f"changes.{part}.opened.{name}"].value == opened
        assert facts[f"changes.{part}.lost_edits.{name}"].value == opened * (4 * seconds + 1), "an edit at the cut is lost, too"
        assert facts[f"changes.{part}.opened_dropped.{name}"].n == facts[f"changes.{part}.opened_reordered.{name}"].n == 15
    assert verdicts(known)["luanti.opens.unchanged"] == "kept"
    assert verdicts(known)["luanti.opens.sqlite_synchronous_0"] == "missed"
    share = facts["changes.luanti.opened_share.sqlite_synchronous_0"]
    # Clopper and Pearson for 27 of 30, from R 4.2: binom.test(27, 30)$conf.int
    assert (share.low, share.high) == (pytest.approx(0.7347, abs=1e-4), pytest.approx(0.9789, abs=1e-4))


def few() -> Config:
    """Returns a configuration with two changes of Luanti and no power cuts, whose lives are soon written."""
    config = config_of("paper", None)
    scale = config.scales["paper"]
    sizes = scale.design(CHANGES).model_copy(update={"changes": ("leveldb", "players_apart"), "cut_lives": 0})
    return config.model_copy(update={"scales": {"paper": scale.model_copy(update={"changes": sizes})}})


def test_a_life_with_saturated_clients_makes_its_change_not_valid_and_the_unchanged_one_all(tmp_path: Path) -> None:
    for name, hit in (("leveldb", {"leveldb"}), (UNCHANGED, {"leveldb", "players_apart"})):
        saturated = {"not_valid": {"latency_6ms": "the clients were late"}}
        path = write(tmp_path / name, "luanti", config=few(), values={(2, name): saturated})
        lost = {key.split(".")[1] for key, verdict in verdicts(study_of(path)).items() if verdict == "not valid"}
        assert lost & set(LEFT) == hit


def test_a_server_that_ended_on_the_slow_disk_counts_as_a_gap_of_the_whole_time(tmp_path: Path) -> None:
    ended = {"epoch": 1, "arm": "latency_6ms", "at_ns": 9 * SECOND, "said": "no space"}
    results = study_of(write(tmp_path, "luanti", config=few(), values={(0, "leveldb"): {"ended": ended}})).results.servers[0]
    rows = results.rows
    row = rows[(rows["metric"] == SAVE_GAP) & (rows["life"] == "leveldb") & (rows["block"] == 0)].iloc[0]
    assert row["slow"] == pytest.approx(3 * 1.1 * 1000, rel=0.01)
    assert not results.losses, "there was no power cut"


def test_the_figure_and_the_tables_have_every_change(known: Study[Results]) -> None:
    prices = known.table("prices")
    assert len(prices) == 5 + 2
    assert prices.loc[("Luanti", "nothing is changed"), "worlds that opened"] == "30 of 30"
    assert len(known.table("cuts")) == 30 * 7
    assert set(METRICS.values()) == set(known.table("effects").index.get_level_values("metric"))
    for name in ("gains", "paper_changes"):
        assert "Play lost" in known.figure(name).data
