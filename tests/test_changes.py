"""Changes of a server: the plan, and the analysis of lives with a known gain of a change and a known loss of a power cut."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from records_of import usual_config
from simulated_runs import BASE_MS, DELAY_MS, SECOND, cells_of, config_of, write_runs

from tickdisk import server
from tickdisk.config import Cell, Config, arms_of_run, load_arms
from tickdisk.device import load_devices
from tickdisk.experiment import AGAIN, CHANGES, CUT, DELAYED, SAVE_PERIODS, STUDIES, UNCHANGED, PlannedLife
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import Project
from tickdisk.project.project import left_out
from tickdisk.server import place_apart
from tickdisk.studies import changes
from tickdisk.studies.changes.compute import LONGEST, METRICS, Results
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
        # A whole period of the rarest saves is cut in all of them, and three usual periods are analysed.
        rarest_s = max(life.save_period_s or 0.0 for life in cell.lives if not life.cuts_s)
        for epoch in (epoch for life in cell.lives if not life.cuts_s for epoch in life.epochs):
            assert epoch.steady_s - epoch.start_s == pytest.approx(rarest_s)
            assert epoch.end_s - epoch.steady_s == pytest.approx(3 * design.save_period_s)
        assert rarest_s == pytest.approx((3 if "rare_saves" in design.changes else 1) * design.save_period_s)
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
    arms, config = load_arms(), usual_config()
    assert STUDIES["changes"].runs_alone
    assert not [arm for arm in arms_of_run(arms, None) if arm.experiment == "changes"]
    assert {arm.experiment for arm in arms_of_run(arms, "changes")} == {"changes"}
    assert "STUDY=changes" in left_out(config, arms, {})["changes"]
    alone = config.model_copy(update={"study": "changes"})
    assert "changes" not in left_out(alone, arms, {})
    assert set(left_out(alone, arms, {})) == set(STUDIES) - {"changes"}


def test_a_change_that_the_server_does_not_have_is_named_before_anything_runs() -> None:
    values = usual_config().model_dump(mode="json") | {"study": "changes"}
    scale = values["scales"][values["scale"]]
    scale["servers"]["minestom"]["changes"]["changes"] = ["synced_saves", "faster"]
    with pytest.raises(TickdiskError, match="changes on minestom: there is no change faster; take one of saves_in_tick, synced"):
        Project.of(values)


def test_a_run_of_this_study_alone_measures_no_tier_but_the_floor_of_each() -> None:
    devices, values = load_devices(Path("data/devices.yaml")), usual_config().model_dump(mode="json")
    configs = (Config.model_validate(values | chosen) for chosen in ({}, {"study": "changes"}))
    whole, alone = (Project(config, (), devices, cast("Any", None), {}) for config in configs)
    assert len(whole.calibrated_tiers) > 3
    assert alone.calibrated_tiers == []
    assert set(whole.calibrated_tiers) <= {model.name for model in alone.models()}


def test_a_change_whose_program_is_not_installed_is_named_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    values = usual_config().model_dump(mode="json") | {"study": "changes", "scale": "full"}
    monkeypatch.setattr(server.OptionalProgram, "found", lambda _: None)
    with pytest.raises(TickdiskError, match="on luanti: the change postgresql needs PostgreSQL, which is not installed; install"):
        Project.of(values)


def test_the_newest_version_of_a_program_is_taken(tmp_path: Path) -> None:
    program = server.OptionalProgram("Store", "usr/lib/store/*/bin/store", "store")
    assert program.found(tmp_path) is None
    for version in ("9.6", "15", "16"):
        path = tmp_path / f"usr/lib/store/{version}/bin/store"
        path.parent.mkdir(parents=True)
        path.touch()
        assert program.found(tmp_path) == path


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


# Saves that are rarer


def with_saves(life: PlannedLife, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Returns tables in which ticks take 100 ms, but 400 or 200 ms in turn where a save falls, at the period of the life."""
    if life.cuts_s:
        return with_places(life, made)
    starts, at_ns, saves = [], 0, 0
    while at_ns < life.seconds * SECOND:
        starts.append(at_ns + SECOND)
        is_save = at_ns >= saves * (life.save_period_s or 0.0) * SECOND
        # Every third save of a life with the usual period is longer, and every save that comes three times as rarely.
        is_long = is_save and (saves % 3 == 0 or life.change == "rare_saves")
        saves += is_save
        at_ns += (400 if is_long else 200 if is_save else 100) * 1_000_000
    none = pd.array([pd.NA] * len(starts), dtype="Int64")
    ticks = pd.DataFrame({"tick": range(len(starts)), "start_ns": starts, "end_ns": none, "players": 1, "thread": none})
    return with_places(life, {**made, "ticks": ticks})


def test_saves_that_are_rarer_and_no_longer_have_no_effect(tmp_path: Path) -> None:
    """Both have one save of 400 ms in the analysed time. A mean over each save's own period would be 267 ms for the usual one."""
    config = config_of("paper", 2)
    scale = config.scales["paper"]
    sizes = scale.design(CHANGES).model_copy(update={"changes": ("rare_saves",), "cut_lives": 0})
    config = config.model_copy(update={"scales": {"paper": scale.model_copy(update={"changes": sizes})}})
    path = write_runs(tmp_path, "changes", config=config, of_life=with_saves)
    found = study_of(path).results.servers[0]
    longest = found.rows[(found.rows["metric"] == LONGEST) & found.rows["life"].isin([UNCHANGED, AGAIN, "rare_saves"])]
    assert set(longest["slow"]) == set(longest["fast"]) == {400.0}
    assert found.plain[LONGEST, "rare_saves"].ratio == pytest.approx(1)
    assert found.contrasts[LONGEST, "rare_saves"].ratio == pytest.approx(1)


# The analysis


def test_the_ratio_of_ratios_of_each_change_is_the_known_one(known: Study[Results]) -> None:
    for part in known.results.servers:
        for name in part.changes:
            expected = (BASE_MS + LEFT[name] * SLOW_MS) / (BASE_MS + SLOW_MS)
            for metric in ("gap_mean_ms", LONGEST, "teleport_mean_ms", "place_mean_ms"):
                # A change does nothing on the fast disk here, so that both ratios are the same.
                for effect in (part.contrasts[metric, name], part.plain[metric, name]):
                    assert effect.n == 6
                    assert effect.ratio == pytest.approx(expected, rel=0.04), (name, metric)
                    assert effect.low < expected * 1.03
                    assert effect.high > expected * 0.97


def test_a_change_that_only_slows_the_fast_disk_has_an_effect_and_no_plain_one(tmp_path: Path) -> None:
    def gap(life: PlannedLife) -> Gap:
        usual, times = gap_of(life), 2.0 if life.change == "players_apart" else 1.0
        return lambda arm, block: usual(arm, block) * (times if arm == "ssd_100us" else 1.0)

    path = write_runs(tmp_path, "changes", config=few(), gap_of=gap, of_life=with_places)
    found = study_of(path)
    assert found.statement.facts["changes.luanti.gap_max_ratio.players_apart"].value == pytest.approx(0.5, rel=0.04)
    plain = found.statement.facts["changes.luanti.gap_max_slow_ratio.players_apart"]
    assert plain.value == pytest.approx(1, rel=0.04)
    assert (plain.low or 0) < 1 < (plain.high or 0)
    row = found.table("effects").loc[("Luanti", "longest tick gap", "players_apart")]
    assert row["slow disk, with over without"] == plain.text


def test_both_save_periods_are_stated_with_each_change(known: Study[Results]) -> None:
    facts = known.statement.facts
    for name, periods in ((UNCHANGED, (1.1, 5.3)), ("rare_saves", (3.3, 15.9))):
        found = [facts[f"changes.luanti.{kind}.{name}"].value for kind in ("save_period", "cut_save_period")]
        assert found == pytest.approx(periods)
    assert facts["changes.luanti.analysed"].value == pytest.approx(3.3)
    rare = known.table("prices").loc[("Luanti", "saves three times as rare")]
    assert (rare["a save every (s)"], rare["a save before a cut every (s)"]) == ("3.3", "15.9")
    claim = next(claim for claim in known.statement.claims if claim.id == "changes.luanti.rare_saves.gap_max")
    assert "these lives save every 3.3 s, and the others every 1.1 s" in claim.evidence


def test_verdicts_say_which_change_helps_and_which_does_not(known: Study[Results]) -> None:
    found = verdicts(known)
    for metric in ("gap_max", "gap_mean", "teleport_mean", "place_mean"):
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


def few(blocks: int = 6) -> Config:
    """Returns a configuration with two changes of Luanti and no power cuts, whose lives are soon written."""
    config = config_of("paper", None)
    scale = config.scales["paper"]
    sizes = scale.design(CHANGES).model_copy(update={"blocks": blocks, "changes": ("leveldb", "players_apart"), "cut_lives": 0})
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
    row = rows[(rows["metric"] == LONGEST) & (rows["life"] == "leveldb") & (rows["block"] == 0)].iloc[0]
    assert row["slow"] == pytest.approx(3 * 1.1 * 1000, rel=0.01)
    assert not results.losses, "there was no power cut"


def ended_early(*lives: tuple[int, str], epochs: int, blocks: int = 6) -> dict[str, Any]:
    """Returns how `write_runs` makes lives that the slow disk ended, of whose epochs the first `epochs` had begun."""

    def without(life: PlannedLife, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        hit = life.trace_seed in seeds and any(life.name == name for _, name in lives)
        kept = made["epochs"].head(epochs) if hit else made["epochs"]
        return with_places(life, {**made, "epochs": kept})

    seeds = {life.trace_seed for cell in cells_of(few(blocks), "changes") if cell.block in dict(lives) for life in cell.lives}
    ended = {"epoch": 0 if epochs else None, "arm": "latency_6ms", "at_ns": 3 * SECOND, "said": "killed"}
    return {"values": {life: {"ended": ended} for life in lives}, "gap_of": gap_of, "of_life": without, "config": few(blocks)}


def test_a_server_that_the_slow_disk_ends_first_keeps_its_ratio(tmp_path: Path) -> None:
    """Odd blocks begin on the slow disk. The fast value is the geometric mean of those of the other five blocks."""
    path = write_runs(tmp_path, "changes", **ended_early((1, "leveldb"), epochs=1))
    study = study_of(path)
    found, facts = study.results.servers[0], study.statement.facts
    own = found.rows[(found.rows["metric"] == LONGEST) & (found.rows["life"] == "leveldb")].set_index("block")
    others = own["fast"].drop(1)
    assert np.isnan(own.loc[1, "fast"])
    assert own.loc[1, "slow"] == pytest.approx(3300)
    assert own.loc[1, "effect"] == pytest.approx(np.log(3300) - np.log(others).mean())
    assert found.contrasts[LONGEST, "leveldb"].n == found.plain[LONGEST, "leveldb"].n == 6
    assert (facts["changes.luanti.slow_ended.leveldb"].value, facts["changes.luanti.slow_ended.leveldb"].n) == (1, 6)
    assert facts["changes.luanti.slow_ended.unchanged"].value == 0
    claim = next(claim for claim in study.statement.claims if claim.id == "changes.luanti.leveldb.gap_max")
    assert "servers that the slow disk ended: 1 of 6 in leveldb" in claim.evidence
    assert "in 1 more the server ended" not in claim.evidence
    row = study.table("prices").loc[("Luanti", "map, players and accounts in LevelDB")]
    assert row["servers that the slow disk ended"] == "1 of 6"


@pytest.mark.parametrize(
    ("lives", "counts"),
    [
        ([(1, "leveldb")], {"leveldb": 7, AGAIN: 8, "players_apart": 8}),
        ([(1, UNCHANGED)], {"leveldb": 8, AGAIN: 7, "players_apart": 8}),
        ([(1, UNCHANGED), (1, AGAIN)], {"leveldb": 7, AGAIN: 7, "players_apart": 7}),
    ],
)
def test_a_server_that_ended_before_the_first_epoch_is_counted_and_no_claim_lacks_it(
    lives: list[tuple[int, str]], counts: dict[str, int], tmp_path: Path
) -> None:
    path = write_runs(tmp_path, "changes", **ended_early(*lives, epochs=0, blocks=8))
    study = study_of(path)
    found = study.results.servers[0]
    assert {name: found.contrasts[LONGEST, name].n for name in counts} == counts
    decided = verdicts(study)
    for name, count in counts.items():
        assert decided[f"luanti.{name}.gap_max"] != "not valid", name
        shown = found.decision.verdicts[LONGEST, name].shown
        assert ("in 1 more the server ended" in shown) == (count == 7)
    for _, name in lives:
        assert study.statement.facts[f"changes.luanti.slow_ended.{name}"].value == 1


def test_the_figure_and_the_tables_have_every_change(known: Study[Results]) -> None:
    prices = known.table("prices")
    assert len(prices) == 5 + 2
    assert prices.loc[("Luanti", "nothing is changed"), "worlds that opened"] == "30 of 30"
    assert len(known.table("cuts")) == 30 * 7
    assert set(METRICS.values()) == set(known.table("effects").index.get_level_values("metric"))
    for name in ("gains", "paper_changes"):
        assert "Play lost" in known.figure(name).data
