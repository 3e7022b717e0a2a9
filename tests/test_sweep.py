"""Sweeps: points are read and named, have the controls and one dose, share cells, and show effects that are known."""

from pathlib import Path
from typing import Any

import pytest
import typer.testing
from records_of import plan_of, usual_config
from simulated_runs import BASE_MS, LATENCY_MS, PER_MS, cells_of, linear, write_runs

from tickdisk import studies
from tickdisk.cli import app
from tickdisk.config import Config, check_arms, load_arms
from tickdisk.experiment import SWITCHBACK
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import POINTS, Point, read_points, write_plan
from tickdisk.project.sweep import arms_at, config_at
from tickdisk.studies.study import Study

COLUMNS = "players\tlatency_ms\tsave_period_s\tdevice\tserver\tlives"


def at(*points: Point, config: Config | None = None) -> tuple[Config, list[Any]]:
    """Returns the configuration of a point and its arms."""
    found = config_at(config or usual_config(), load_arms(), points)
    arms = arms_at(found, load_arms())
    check_arms(found, arms)
    return found, arms


def test_a_table_states_what_differs(tmp_path: Path) -> None:
    (tmp_path / POINTS).write_text(f"{COLUMNS}\n5\t0.1\t\t\t\t\n\t\t2.5\tmydisk.yaml\tdragonfly\t12\n")
    first, second = read_points(tmp_path / POINTS)
    assert (first, first.name) == (Point(players=5, latency_ms=0.1), "players_5_latency_ms_0_1")
    assert second == Point(save_period_s=2.5, device="mydisk.yaml", server="dragonfly", lives=12)
    assert second.name == "save_period_s_2_5_device_mydisk_yaml_server_dragonfly"
    saved_by_a_spreadsheet = b"\xef\xbb\xbf" + (tmp_path / POINTS).read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / POINTS).write_bytes(saved_by_a_spreadsheet)
    assert read_points(tmp_path / POINTS) == [first, second]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("players\n0\n", r"points.tsv, line 2: .*players.*; the columns are some of players, latency_ms"),
        ("players\nmany\n", r"points.tsv, line 2: .*players"),
        ("plaeyrs\n5\n", r"points.tsv, line 2: .*plaeyrs"),
        ("players\n", r"points.tsv has no points; give each point one row"),
        ("players\tlives\n5\t6\n5\t8\n", r"points.tsv has a point twice"),
    ],
)
def test_a_wrong_table_is_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / POINTS).write_text(text)
    with pytest.raises(TickdiskError, match=message):
        read_points(tmp_path / POINTS)


@pytest.mark.parametrize("server", ["luanti", "dragonfly"])
def test_a_point_has_the_controls_and_one_dose_on_any_server(server: str) -> None:
    config, arms = at(Point(players=7, latency_ms=0.5, save_period_s=2, server=server, lives=9))
    design = config.chosen.design(SWITCHBACK, server)
    assert (config.server, design.players, design.save_period_s, design.lives) == (server, 7, 2, 9)
    swept = config.decision.confirmatory.arm
    others = {arm.arm: arm for arm in load_arms() if arm.experiment == "switchback"}
    assert {arm.arm for arm in arms} - others.keys() == {swept}
    kept = [arm for arm in arms if arm.arm in others]
    assert {arm.role for arm in kept} >= {"baseline", "null", "sham", "delay"}
    assert all(arm.servers == (server,) for arm in arms)
    held = next(arm for arm in load_arms() if arm.arm == "action_delay" and server in arm.servers)
    assert next(arm for arm in arms if arm.arm == "action_delay").action_delay_ms == held.action_delay_ms
    own = next(arm for arm in arms if arm.arm == swept)
    assert (own.device, own.latency_us, own.role) == ("sata_ssd", 500, "dose")


@pytest.mark.parametrize("server", ["luanti", "dragonfly", "minestom"])
def test_lives_are_whole_squares_and_enough_for_a_verdict(server: str) -> None:
    config, arms = at(Point(players=7, server=server), config=usual_config().model_copy(update={"scale": "paper"}))
    lives = config.chosen.design(SWITCHBACK, server).lives
    assert lives % len(arms) == 0
    assert lives >= config.decision.minimum_lives


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"players\tlatency_ms\n5\t6\t\n", "line 2 has more cells than the first line has columns"),
        ("players\n5\n".encode("utf-16"), "is not a table in UTF-8"),
        (b"latency_ms\ninf\n", "line 2: latency_ms = inf"),
    ],
)
def test_a_wrong_table_is_told_in_one_sentence(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "points.tsv").write_bytes(content)
    with pytest.raises(TickdiskError, match=words):
        read_points(tmp_path / "points.tsv")


def test_a_dose_of_the_table_keeps_its_name_and_is_the_confirmatory_one_where_none_is_stated() -> None:
    planned = usual_config().decision.confirmatory.arm
    for point in (Point(players=3), Point(players=3, latency_ms=6)):
        config, arms = at(point)
        assert config.decision.confirmatory.arm == planned in {arm.arm for arm in arms}
    config, arms = at(Point(device="hdd"))
    assert next(arm for arm in arms if arm.arm == config.decision.confirmatory.arm).device == "hdd"
    assert len(at(Point(latency_ms=6), Point(latency_ms=1), Point(latency_ms=2))[1]) == len(at(Point(latency_ms=2))[1]) + 2


def test_points_that_are_the_same_have_the_same_cells_and_more_lives_add_to_them() -> None:
    def hashes(point: Point) -> list[str]:
        config, arms = at(point)
        return [cell.hash for cell in cells_of(config, "switchback", arms=arms)]

    few, more = hashes(Point(players=5, latency_ms=6, lives=2)), hashes(Point(latency_ms=6, lives=3))
    assert few == more[:2]
    others = [Point(players=6), Point(latency_ms=1), Point(save_period_s=1), Point(device="hdd")]
    assert not {*few} & {cell for point in others for cell in hashes(point)}


def study_of(folder: Path, points: list[Point], monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> Study[Any]:
    """Writes made-up lives of all points, and returns the study of the sweep. Each further player makes a tick 10 ms longer."""
    runs = folder / "runs"
    rows = [COLUMNS, *("\t".join(str(getattr(point, key) or "") for key in Point.model_fields) for point in points)]
    (folder / POINTS).write_text("\n".join(rows) + "\n")
    for point in points:
        config, arms = at(point)
        monkeypatch.setitem(LATENCY_MS, config.decision.confirmatory.arm, point.latency_ms or 6.0)
        players = 10 * (point.players or 5)
        write_runs(
            runs, "switchback", config=config, arms=arms, gap_ms=lambda arm, block, more=players: linear(arm, block) + more
        )
        cells = [cell.row for cell in cells_of(config, "switchback", arms=arms)]
        (folder / point.name).mkdir()
        write_plan(folder / point.name / "plan.json", plan_of(config, cells, arms=tuple(arms)))
    fixed: dict[str, Any] = {"tick_metric": "gap_max_ms", "action": "teleport", "margin": None, "seed": None}
    return studies.sweep(str(folder), runs=str(runs), **fixed | parameters)


def test_the_points_stand_beside_each_other_with_what_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [Point(players=players, latency_ms=ms, save_period_s=2, lives=6) for players in (2, 10) for ms in (0.1, 6)]
    study = study_of(tmp_path, points, monkeypatch)
    assert study.results.varied == ["players", "latency_ms"]
    for point in points:
        fact = study.statement[f"{point.name}.gap_mean_ratio"]
        base = BASE_MS + 10 * (point.players or 0)
        true = (base + PER_MS * (point.latency_ms or 0)) / (base + PER_MS * 0.1)
        assert (fact.n, fact.unit) == (6, "ratio")
        assert fact.value == pytest.approx(true, rel=0.02)
        assert fact.low is not None
        assert fact.high is not None
        assert fact.low < true < fact.high
    drawn = study.save(str(tmp_path / "out"))
    assert drawn.startswith("1 figures, ")
    svg = (tmp_path / "out/figures/outcome.svg").read_text()
    assert all(words in svg for words in ("Players", "Latency (ms) 0.1", "Latency (ms) 6", "n = 6"))
    table = study.table("points")
    assert len(table) == len(points) * len(study.results.metrics)
    alone = study_of(tmp_path / "alone", points[1:2], monkeypatch) if (tmp_path / "alone").mkdir() is None else None
    assert alone is not None
    one, of_four = (each.statement[f"{points[1].name}.gap_mean_ratio"] for each in (alone, study))
    assert one.value == of_four.value
    assert of_four.low < one.low < one.high < of_four.high, "an interval that holds for all points is wider"


def test_a_point_s_own_notebook_can_be_made_at_any_latency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the baseline's own latency, and where the dose is the positive control of actions itself."""
    points = [
        Point(latency_ms=0.1, lives=6),
        Point(latency_ms=12, lives=6),
        Point(device="hdd", lives=6),
        Point(latency_ms=1, lives=1),
    ]
    study_of(tmp_path, points, monkeypatch)
    for point in points:
        fixed: dict[str, Any] = {"tick_metric": "gap_max_ms", "action": "teleport", "margin": None, "seed": None}
        study = studies.switchback(str(tmp_path / point.name / "plan.json"), runs=str(tmp_path / "runs"), **fixed)
        assert study.save(str(tmp_path / f"{point.name}-out"))
        assert len(study.verdicts())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["join_burst", "--players", "5"], "join_burst cannot be swept; take switchback"),
        (["switchback"], "a sweep needs either values, such as --players 5,10, or a table of points"),
        (["switchback", "--players", "5", "--table", "points.tsv"], "a sweep needs either values"),
        (["switchback", "--players", "0"], "line 2"),
    ],
)
def test_a_wrong_call_is_one_sentence(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = typer.testing.CliRunner().invoke(app, ["sweep", *words])
    assert isinstance(result.exception, TickdiskError)
    assert said in str(result.exception)
