"""Players as a dose: the plan, what counts, and the analysis on lives in which the cost of a player is known."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from records_of import usual_config
from simulated_runs import BASE_MS, DELAY_MS, DELAYED, LATENCY_MS, cells_of, config_of, write_runs

from tickdisk import accesses, player, stats
from tickdisk.config import Cell, load_arms, parse_config
from tickdisk.experiment import PLAYERS, STUDIES, PlannedLife
from tickdisk.project.project import left_out
from tickdisk.run.trace import TAIL_S, write_life_trace
from tickdisk.server import WorldSpec
from tickdisk.studies import players
from tickdisk.studies.players.compute import Results, _lines
from tickdisk.studies.study import Study

NUMBERS = (2, 5, 10, 20)
NONE_MS, PLAYER_MS = 2.0, 9.0
"""A ms of latency adds so many ms to every gap, and so many more for each player."""
SLOW_MS = LATENCY_MS["latency_6ms"] - LATENCY_MS["ssd_100us"]
Gap = Callable[[str, int], float]


def costly(life: PlannedLife) -> Gap:
    """Returns the gap of a life with a number of players. Blocks differ, and so do lives, in their baselines alone."""
    number = life.players or 5
    return lambda arm, block: (
        BASE_MS + 3 * block + number + (NONE_MS + PLAYER_MS * number) * LATENCY_MS[arm] + (DELAY_MS * (arm in DELAYED))
    )


def careless(_: PlannedLife) -> Gap:
    """Returns the gap of a server that never waits for its disk."""
    return lambda arm, block: BASE_MS + 3 * block + (DELAY_MS if arm in DELAYED else 0.0)


def study_of(path: Path) -> Study[Results]:
    return players(str(path), runs=str(path.parent), margin=None, seed=1)


def verdicts(study: Study[Results]) -> dict[str, str]:
    return {claim.id.partition(".")[2]: claim.verdict for claim in study.statement.claims}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two servers, of which one waits for its disk for every player and the other does not."""
    folder = tmp_path_factory.mktemp("players")
    for server, gap_of in (("luanti", costly), ("dragonfly", careless)):
        write_runs(folder, "switchback", server=server, gap_of=gap_of)
        write_runs(folder, "players", server=server, gap_of=gap_of)
    return folder


@pytest.fixture(scope="module")
def known(folder: Path) -> Study[Results]:
    return study_of(folder / "plan.json")


# The plan


def planned(server: str = "luanti", scale: str = "paper") -> list[Cell]:
    return cells_of(config_of(scale, None), "players", server)


def test_every_number_of_players_has_a_life_in_each_block_and_every_order_of_arms_once() -> None:
    cells = planned()
    assert len(cells) == 6
    orders: dict[int, set[tuple[str, ...]]] = {number: set() for number in NUMBERS}
    for cell in cells:
        assert sorted(life.players or 0 for life in cell.lives) == list(NUMBERS)
        assert len({life.trace_seed for life in cell.lives}) == 1
        for life in cell.lives:
            orders[life.players or 0].add(tuple(epoch.arm for epoch in life.epochs))
            assert life.epochs[0].start_s >= 0.1 * ((life.players or 0) - 1) + 1
            assert all(one.end_s == pytest.approx(after.start_s) for one, after in pairwise(life.epochs))
    # Six orders of three arms are one Williams square: every arm everywhere twice, and after every other arm twice.
    for of_number in orders.values():
        assert len(of_number) == 6
        assert set(Counter(pair for order in of_number for pair in pairwise(order)).values()) == {2}
    assert len({tuple(life.players for life in cell.lives) for cell in cells}) > 1, "the order of numbers is drawn"


def test_a_life_has_the_players_of_its_own_number(tmp_path: Path) -> None:
    cell = planned()[0]
    for life in cell.lives:
        path = tmp_path / life.name
        world = type("World", (), {"places": [(80 * number, 10, 0) for number in range(400)]})
        write_life_trace(path, cell, life, world)  # type: ignore[arg-type]
        lines = path.read_text().splitlines()
        assert sum('"action": "join"' in line for line in lines) == life.players
        last_ns = max(int(line.split('"due_ns": ')[1].split(",")[0]) for line in lines if '"action": "join"' in line)
        assert last_ns / 1e9 + PLAYERS.design().warm_up_s == pytest.approx(life.epochs[0].start_s)


@pytest.mark.parametrize("scale", ["smoke", "paper", "full"])
@pytest.mark.parametrize("server", ["luanti", "dragonfly", "minestom"])
def test_every_world_has_ground_for_all_players(scale: str, server: str) -> None:
    """Every square of a world with dry ground has a place. At most a tenth of the squares is under water."""
    spec = WorldSpec(**config_of(scale, None).chosen.world_of(server).model_dump())
    places = [(80 * number, 10, 0) for number in range(spec.edge_chunks**2 * 9 // 10)]
    for cell in planned(server, scale):
        for life in cell.lives:
            design = {**cell.resolved.design, "players": life.players}
            acts = player.BEHAVIOURS["roam"](places, design, life.trace_seed, life.seconds + TAIL_S)
            assert len({event.player for event in acts.events}) == life.players


def test_the_time_of_each_scale_is_within_its_share() -> None:
    """The time around a life is what it took on two cores: the device, the copy of the world, start and end of the server."""
    around_s, limits_s = {"luanti": 3.8, "dragonfly": 3.1, "minestom": 6.7}, {"smoke": 21, "paper": 16 * 60}
    for scale, limit_s in limits_s.items():
        cells = [cell for server in around_s for cell in planned(server, scale)]
        assert sum(life.seconds + around_s[cell.server] for cell in cells for life in cell.lives) < limit_s


def test_a_server_without_blocks_has_no_life_whatever_number_of_blocks_is_asked_for() -> None:
    for blocks in (None, 3):
        config = config_of("smoke", blocks)
        assert [len(cells_of(config, "players", server)) for server in ("luanti", "dragonfly")] == [blocks or 1, 0]


def test_a_scale_without_the_experiment_leaves_its_study_out() -> None:
    values = usual_config().model_dump(mode="json")
    del values["scales"][values["scale"]]["players"]
    alone = {name for name, study in STUDIES.items() if study.runs_alone}
    reasons = left_out(parse_config(values), load_arms(), {})
    assert {name: reason for name, reason in reasons.items() if name not in alone} == {
        "players": f"the scale {values['scale']} has no life of it"
    }
    assert set(left_out(usual_config(), load_arms(), {})) == alone


# The analysis


def test_what_a_player_more_costs_is_found(known: Study[Results]) -> None:
    facts = known.statement.facts
    each, none = facts["players.per_player"], facts["players.at_none"]
    assert each.value == pytest.approx(PLAYER_MS, abs=0.25)
    assert each.low is not None
    assert each.high is not None
    assert each.low < PLAYER_MS < each.high
    assert none.value == pytest.approx(NONE_MS, abs=1.5)
    assert (each.n, facts["players.lives"].value, facts["players.blocks"].value) == (6, 24, 6)
    for number in NUMBERS:
        found = facts[f"players.added.players_{number}"]
        assert found.value == pytest.approx(SLOW_MS * (NONE_MS + PLAYER_MS * number), rel=0.05)
        assert found.n == 6


def test_the_mean_of_the_lines_of_blocks_is_the_line_through_all_lives(known: Study[Results]) -> None:
    """Least squares over all lives at once are the oracle, because no life is missing."""
    lives = known.results.servers[0].lives
    columns = np.column_stack([np.ones(len(lives)), lives["players"]])
    (none, each), *_ = np.linalg.lstsq(columns, lives["per_ms"], rcond=None)
    facts = known.statement.facts
    assert facts["players.per_player"].value == pytest.approx(each)
    assert facts["players.at_none"].value == pytest.approx(none)


def test_intervals_of_the_line_cover_the_truth_although_spread_grows_with_players() -> None:
    rng, covered = np.random.default_rng(3), 0
    grid = pd.DataFrame([(block, number) for block in range(6) for number in NUMBERS], columns=["block", "players"])
    for _ in range(400):
        truth = NONE_MS + PLAYER_MS * grid["players"]
        per_ms = truth * rng.normal(1, 0.1, len(grid)) + rng.normal(0, 1, len(grid))
        lines = _lines(grid.assign(per_ms=per_ms, base_ms=100.0), SLOW_MS)
        mean = stats.over_lives(lines["per_player"], 0.05)
        covered += mean.low < PLAYER_MS < mean.high
    assert 0.92 < covered / 400 < 0.98


def test_verdicts_follow_from_the_effects_on_each_server(known: Study[Results]) -> None:
    found = verdicts(known)
    assert found == {
        "null": "equivalent",
        **{f"players_{number}": "different" for number in NUMBERS},
        "per_player": "different",
        "dragonfly.null": "equivalent",
        **{f"dragonfly.players_{number}": "equivalent" for number in NUMBERS},
        "dragonfly.per_player": "equivalent",
    }


def test_every_table_and_figure_comes(known: Study[Results], tmp_path: Path) -> None:
    for name in ("runs", "effects", "slopes"):
        assert len(known.table(name))
    known.save(str(tmp_path))
    text = (tmp_path / "figures/paper_players.svg").read_text()
    assert "Luanti (n = 24)" in text
    assert "Dragonfly (n = 24)" in text
    captured = replace(known.results, captured=accesses.PlayerSaves(10, 50, 150, 550, 450))
    table = known.tables["captured"](captured)
    assert table["count"].tolist() == ["3", "11", "9"]


def test_a_life_whose_clients_are_saturated_says_so_and_does_not_count(tmp_path: Path) -> None:
    saturated: dict[str, Any] = {
        "saturated": {"ssd_100us": "client saturated: 6 of 507", "latency_6ms": "client saturated: 9 of 500"}
    }
    write_runs(tmp_path, "switchback", gap_of=costly)
    path = write_runs(tmp_path, "players", gap_of=costly, values={(0, "players_20"): saturated, (3, "players_20"): saturated})
    study = study_of(path)
    facts, claims = study.statement.facts, {claim.id: claim for claim in study.statement.claims}
    assert facts["players.saturated_lives"].value == 2
    assert facts["players.added.players_20"].n == 4
    claim = claims["players.players_20"]
    assert claim.verdict == "not valid"
    assert [cause.life for cause in claim.causes if isinstance(cause, stats.ClientsSaturated)] == [
        "block 1, players_20",
        "block 4, players_20",
    ]
    assert "client saturated: 6 of 507" in claim.evidence
    # The other numbers keep their lives, and the lines of all blocks use what counts.
    assert {claims[f"players.players_{number}"].verdict for number in (2, 5, 10)} == {"different"}
    assert facts["players.per_player"].value == pytest.approx(PLAYER_MS, abs=0.4)
    assert claims["players.per_player"].verdict == "different"


def test_without_the_controls_of_the_switchback_nothing_is_decided(tmp_path: Path) -> None:
    study = study_of(write_runs(tmp_path, "players", gap_of=costly))
    words = verdicts(study)
    assert {word for name, word in words.items() if name != "null"} == {"not valid"}
    causes = {claim.id: claim.causes for claim in study.statement.claims}["players.per_player"]
    assert [cause.control for cause in causes if isinstance(cause, stats.ControlFailed)] == ["positive"]


def test_a_null_control_that_is_found_different_decides_nothing(tmp_path: Path) -> None:
    def unequal(life: PlannedLife) -> Gap:
        return lambda arm, block: costly(life)(arm, block) + (60.0 if arm == "ssd_100us_again" else 0.0)

    write_runs(tmp_path, "switchback", gap_of=costly)
    words = verdicts(study_of(write_runs(tmp_path, "players", gap_of=unequal)))
    assert words == {
        "null": "different",
        **dict.fromkeys((f"players_{number}" for number in NUMBERS), "not valid"),
        "per_player": "not valid",
    }


# The requests behind it


def test_the_requests_that_save_a_player_are_counted() -> None:
    """Two players are saved in one save. Each has two flushes, during which 3 and 1 requests arrive, two of them together."""
    rows = []
    for begin in (100, 200):
        rows += [
            (begin, begin + 1, "players.sqlite-journal", "write", 0, 512),
            (begin + 2, begin + 40, "players.sqlite-journal", "sync", None, 0),
            (begin + 41, begin + 42, "players.sqlite-journal", "write", 0, 12),
            (begin + 43, begin + 60, "players.sqlite", "sync", None, 0),
        ]
    rows.append((500, 520, "players.sqlite", "sync", None, 0))  # after the save
    table = pd.DataFrame(rows, columns=["at_ns", "end_ns", "file", "op", "offset", "asked_bytes"])
    table = table.assign(store="players.sqlite", thread=1, offset=table["offset"].astype("Int64"))
    asked = [
        (begin + start, begin + end, op)
        for begin in (100, 200)
        for start, end, op in ((3, 13, "write"), (5, 14, "write"), (20, 38, "flush"), (44, 59, "flush"), (70, 80, "write"))
    ]
    device = pd.DataFrame(
        [*asked, (6, 8, "write"), (104, 110, "read"), (505, 510, "flush")], columns=["arrival_ns", "replied_ns", "op"]
    )
    saves = pd.DataFrame({"start_ns": [90], "end_ns": [300], "thread": [1]})
    found = accesses.player_saves(table, saves, device)
    assert found == accesses.PlayerSaves(saves=1, players=2, flushes=4, requests=8, in_series=6)
    assert found + found == accesses.PlayerSaves(2, 4, 8, 16, 12)
