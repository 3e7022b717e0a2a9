"""The tick probe's raw file: what is missing, doubled, late or broken is counted; expected numbers are counted by hand."""

from pathlib import Path

import numpy as np
import pytest

from tickdisk import TickdiskError, table
from tickdisk.server import BUDGET_NS, read_ticks

HEADER = "tickdisk_probe,1,monotonic_raw_us"
STEP_US = 90_000


def same(times_ns: np.ndarray) -> np.ndarray:
    return times_ns


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_text("\n".join((HEADER, *lines)) + end)
    return path


def step(number: int, us: int, dtime_us: int = STEP_US, players: int = 2) -> str:
    return f"t,{number},{us},{dtime_us},{players}"


def test_a_whole_file(tmp_path: Path) -> None:
    lines = [step(n, 1_000_000 + n * STEP_US) for n in range(1, 11)]
    ticks = read_ticks(write(tmp_path / "t", *lines, "e,10,1990000,0"), lambda ns: ns + 7)
    assert ticks.table["tick"].tolist() == list(range(1, 11))
    assert ticks.table["start_ns"].tolist() == [1_000_000_000 + n * 90_000_000 + 7 for n in range(1, 11)]
    assert ticks.table["end_ns"].isna().all()
    assert ticks.table["players"].tolist() == [2] * 10
    assert ticks.summary == {
        "ticks": 10, "missing": 0, "duplicated": 0, "late": 0, "merged": 0, "backwards": 0, "rejected": 0, "blocks_generated": 0,
        "complete": True,
    }  # fmt: skip
    table.write("ticks", tmp_path / "ticks.parquet", ticks.table)
    assert table.read("ticks", tmp_path / "ticks.parquet")["start_ns"].tolist() == ticks.table["start_ns"].tolist()


def test_missing_duplicated_late_merged_and_backwards(tmp_path: Path) -> None:
    late_us = BUDGET_NS * 15 // 10 // 1000
    lines = [
        step(1, 0), step(2, 90_000), step(2, 90_000), step(4, 270_000),  # 3 is missing, 2 is there twice
        step(5, 270_000 + late_us), step(6, 271_001 + 2 * late_us),  # exactly on the limit, and 1 ms and 1 us above it
        step(7, 400_000, 270_000),  # three steps in one, and its clock went back
        "g,5,125", "e,9,900000,250",  # 8 and 9 were not written
    ]  # fmt: skip
    ticks = read_ticks(write(tmp_path / "t", *lines), same)
    assert ticks.table["tick"].tolist() == [1, 2, 4, 5, 6, 7]
    assert ticks.summary == {
        "ticks": 6, "missing": 3, "duplicated": 1, "late": 1, "merged": 2, "backwards": 1, "rejected": 0, "blocks_generated": 250,
        "complete": True,
    }  # fmt: skip


def test_a_gap_across_a_missing_tick_is_not_a_late_tick(tmp_path: Path) -> None:
    assert read_ticks(write(tmp_path / "t", step(1, 0), step(3, 180_000)), same).summary["late"] == 0


def test_broken_lines_are_counted_and_kept(tmp_path: Path) -> None:
    broken = ["t,2", "x,1,2", "t,3,abc,90000,1", "", "t,4,1,1,1,1", "m", "m,burn,1"]
    ticks = read_ticks(write(tmp_path / "t", step(1, 5), *broken, "t,5,100", end=""), same)
    assert ticks.summary["ticks"] == 1
    assert ticks.summary["rejected"] == 8
    assert not ticks.summary["complete"]
    assert ticks.rejects == tuple(enumerate([*broken, "t,5,100"], start=3))


def test_a_cut_off_line_does_not_pass_for_a_tick(tmp_path: Path) -> None:
    """Without its line feed `t,2,90000,90000,1` may be the beginning of 12 players."""
    ticks = read_ticks(write(tmp_path / "t", step(1, 0), "t,2,90000,90000,1", end=""), same)
    assert ticks.table["tick"].tolist() == [1]
    assert ticks.rejects == ((3, "t,2,90000,90000,1"),)


def test_markers_are_converted(tmp_path: Path) -> None:
    ticks = read_ticks(write(tmp_path / "t", step(1, 0), "m,read3,10,30", "m,burn,40,90"), lambda ns: ns + 1)
    assert ticks.markers.to_dict("list") == {
        "name": ["read3", "burn"],
        "before_ns": [10_001, 40_001],
        "after_ns": [30_001, 90_001],
    }
    assert read_ticks(write(tmp_path / "t", step(1, 0)), same).markers.empty


def test_blocks_generated_before_a_kill_are_counted(tmp_path: Path) -> None:
    assert read_ticks(write(tmp_path / "t", step(1, 0), "g,1,125", "g,2,250"), same).summary["blocks_generated"] == 250


def test_files_of_somebody_else(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="does not exist"):
        read_ticks(tmp_path / "t", same)
    (tmp_path / "t").write_text("t_us,gap_us\n1,2\n")
    with pytest.raises(TickdiskError, match="line 1: not a file of this tick probe"):
        read_ticks(tmp_path / "t", same)
    with pytest.raises(TickdiskError, match="holds no tick"):
        read_ticks(write(tmp_path / "t"), same)
