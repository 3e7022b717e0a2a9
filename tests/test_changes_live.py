"""Servers start again on images of power cuts, and players see what is left of their edits."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from conftest import for_release, left

from tickdisk import calibrate
from tickdisk.experiment import CUT, UNCHANGED
from tickdisk.foundation import table
from tickdisk.foundation.yaml_file import read_yaml
from tickdisk.manifest import PlayedLife
from tickdisk.project import Project
from tickdisk.run.life import run_life
from tickdisk.run.stage import Stage
from tickdisk.server import WorldSpec, named
from tickdisk.server.luanti import postgresql

pytestmark = pytest.mark.live
needs_postgresql = pytest.mark.skipif(postgresql.PROGRAM.found() is None, reason="needs PostgreSQL")
PERIOD_S = 1.5
TIMES_S, SHARES = (4.0, 5.9), (0.0, 0.5)


def cut_life(name: str, folder: Path, *, server: str = "luanti") -> PlayedLife:
    """Runs a life with a change and two power cuts in the small project, in whose folder this is, into `folder`."""
    values = {**read_yaml(Path("workflow/config/config.yaml"), ""), "study": "changes"}
    planned = Project.of(values)
    cell = next(cell for cell in planned.cells if (cell.experiment, cell.server) == ("changes", server))
    life = next(life for life in cell.lives if life.name == f"{CUT}{UNCHANGED}")
    if not (world := planned.world(server)).exists():
        make_world(server, world, planned)
    end_s = TIMES_S[-1] + 0.5
    epochs = (replace(life.epochs[0], end_s=end_s),)
    change = None if name == UNCHANGED else name
    life = replace(life, cuts_s=TIMES_S, keep_shares=SHARES, seconds=end_s, epochs=epochs, change=change, save_period_s=PERIOD_S)
    calibration = calibrate.load_calibration(Path("results/calibration.json"))
    models = {arm.arm: planned.model("changes", arm.arm) for arm in planned.arms if arm.experiment == "changes"}
    return run_life(Stage(planned, cell, life, models, calibration, folder))


def make_world(name: str, folder: Path, planned: Project) -> None:
    spec = WorldSpec(**planned.config.chosen.world_of(name).model_dump())
    named(name).make_world(folder, spec, folder.parent / "logs")


def tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    cuts, remains = (table.read(name, folder / f"{name}.parquet") for name in ("cuts", "remains"))
    return cuts, remains.merge(cuts[["cut", "cut_ns", "outcome"]], on="cut")


@pytest.mark.parametrize(
    ("server", "name"),
    [
        pytest.param("luanti", UNCHANGED, marks=for_release),
        ("luanti", "players_apart"),
        pytest.param("luanti", "postgresql", marks=[for_release, needs_postgresql]),
        pytest.param("minestom", "synced_saves", marks=for_release),
    ],
)
def test_a_server_that_waits_for_its_disk_loses_what_came_after_its_last_save(
    server: str, name: str, small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_project)
    record = cut_life(name, tmp_path / "life", server=server)
    assert record.ended is None
    cuts, remains = tables(tmp_path / "life")
    assert cuts["outcome"].tolist() == ["opened"] * 2, cuts["detail"].tolist()
    assert cuts["keep_share"].tolist() == list(SHARES)
    assert cuts["pages_kept"].tolist()[0] == 0
    assert ((cuts["cut_ns"] - cuts["due_ns"] == cuts["late_ns"]) & (cuts["late_ns"] >= 0)).all()
    assert (cuts["late_ns"] < 0.5e9).all(), "cuts do not come together"
    assert set(remains["seen"]) <= {"placed", "air"}, "every look was answered"
    assert len(remains) > 5
    for _, own in remains.groupby("cut"):
        assert (own["acknowledged_ns"] <= own["cut_ns"]).all()
        gone, kept = own[own["seen"] == "air"], own[own["seen"] == "placed"]
        # A save takes all edits until its time, so that what is lost came later than what is kept, but for the length of a save.
        if len(gone) and len(kept):
            assert gone["acknowledged_ns"].min() > kept["acknowledged_ns"].max() - 0.7e9
        assert ((gone["cut_ns"] - gone["acknowledged_ns"]) < (PERIOD_S + 1.5) * 1e9).all()
    assert (remains["seen"] == "placed").any(), "the saves of the life are on the disk"
    own = table.read("load", tmp_path / "life/load.parquet")
    used_ns = own.loc[own["process"] == "database", "cpu_ns"]
    assert (record.server.database or "").startswith("postgres (PostgreSQL)") == (len(used_ns) > 0) == (name == "postgresql")
    assert used_ns.is_monotonic_increasing
    assert left() == ([], [], [])
    is_apart = name == "players_apart"
    assert cuts["apart_ns"].notna().all() == is_apart
    processes = set(table.read("load", tmp_path / "life/load.parquet")["process"])
    assert ("emulator_apart" in processes) == (record.device_apart is not None) == is_apart
    assert (tmp_path / "life/raw/device_apart.log.zst").exists() == is_apart
    if is_apart:
        assert (cuts["apart_ns"] < 20e6).all(), "both images are of one moment"


@for_release
def test_a_server_that_never_waits_for_its_disk_loses_all_of_a_short_life(
    small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Luanti asks LevelDB for no sync, and Linux writes what a program left to it after 30 s, which this life does not reach."""
    monkeypatch.chdir(small_project)
    assert cut_life("leveldb", tmp_path / "life").ended is None
    cuts, remains = tables(tmp_path / "life")
    assert cuts["outcome"].tolist() == ["opened"] * 2, cuts["detail"].tolist()
    assert len(remains) > 5
    assert set(remains["seen"]) == {"air"}
