"""The tick probe's raw file: what is missing, doubled, late or broken is counted; expected numbers are counted by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tickdisk import TickdiskError
from tickdisk.foundation import table
from tickdisk.foundation.record import plain
from tickdisk.server import Ticks
from tickdisk.server import read_ticks as read
from tickdisk.server.ticks import first_thread

HEADER = "tickdisk_probe,2,monotonic_raw,us"
STEP_US = 90_000
BUDGET_NS = 90_000_000


def same(times_ns: np.ndarray, clock: str) -> np.ndarray:
    assert clock == "monotonic_raw"
    return times_ns


def read_ticks(path: Path, to_monotonic: Any) -> Ticks:
    return read(path, to_monotonic, BUDGET_NS)


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_text("\n".join((HEADER, *lines)) + end)
    return path


def step(number: int, us: int, dtime_us: int = STEP_US, players: int = 2) -> str:
    return f"t,{number},{us},,{players},{dtime_us},"


def test_a_whole_file(tmp_path: Path) -> None:
    lines = [step(n, 1_000_000 + n * STEP_US) for n in range(1, 11)]
    ticks = read_ticks(write(tmp_path / "t", *lines, "e,10,1990000,0"), lambda ns, _: ns + 7)
    assert ticks.table["tick"].tolist() == list(range(1, 11))
    assert ticks.table["start_ns"].tolist() == [1_000_000_000 + n * 90_000_000 + 7 for n in range(1, 11)]
    assert ticks.table["end_ns"].isna().all()
    assert ticks.table["players"].tolist() == [2] * 10
    assert plain(ticks.counts) == {
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
    assert plain(ticks.counts) == {
        "ticks": 6, "missing": 3, "duplicated": 1, "late": 1, "merged": 2, "backwards": 1, "rejected": 0, "blocks_generated": 250,
        "complete": True,
    }  # fmt: skip


def test_a_gap_across_a_missing_tick_is_not_a_late_tick(tmp_path: Path) -> None:
    assert read_ticks(write(tmp_path / "t", step(1, 0), step(3, 180_000)), same).counts.late == 0


def test_broken_lines_are_counted_and_kept(tmp_path: Path) -> None:
    broken = ["t,2", "x,1,2", "t,3,abc,,1,90000,", "", "t,4,1,,1,1,1,1", "m", "m,burn,1", "t,4,,1,1,1,1"]
    ticks = read_ticks(write(tmp_path / "t", step(1, 5), *broken, "t,5,100", end=""), same)
    assert ticks.counts.ticks == 1
    assert ticks.counts.rejected == 9
    assert not ticks.counts.complete
    assert ticks.rejects == tuple(enumerate([*broken, "t,5,100"], start=3))


def test_a_cut_off_line_does_not_pass_for_a_tick(tmp_path: Path) -> None:
    """Without its line feed `t,2,90000,,1,90000,1` may be the beginning of thread 12."""
    ticks = read_ticks(write(tmp_path / "t", step(1, 0), "t,2,90000,,1,90000,1", end=""), same)
    assert ticks.table["tick"].tolist() == [1]
    assert ticks.rejects == ((3, "t,2,90000,,1,90000,1"),)


def test_spans_threads_and_saves(tmp_path: Path) -> None:
    """The numbers were worked out by hand: times are in ns, and the third tick was cut off by a kill."""
    lines = ["t,1,1000,1500,2,,77", "s,1600,1900", "t,2,2000,,2,,78", "t,3,3000,3500,2,50,"]
    (tmp_path / "t").write_text("\n".join(("tickdisk_probe,2,monotonic,ns", *lines)) + "\n")
    assert first_thread(tmp_path / "t") == 77
    ticks = read(tmp_path / "t", lambda ns, clock: ns + (10 if clock == "monotonic" else 0), 40)
    assert ticks.table["start_ns"].tolist() == [1010, 2010, 3010]
    assert ticks.table["end_ns"].tolist() == [1510, pd.NA, 3510]
    assert ticks.table["thread"].tolist() == [77, 78, pd.NA]
    assert ticks.saves.to_dict("list") == {"begin_ns": [1610], "end_ns": [1910]}
    assert ticks.counts.merged == 0
    table.write("saves", tmp_path / "saves.parquet", ticks.saves)


def test_a_record_without_ticks_has_no_thread_yet(tmp_path: Path) -> None:
    assert first_thread(tmp_path / "none") is None
    assert first_thread(write(tmp_path / "t")) is None


def test_markers_are_converted(tmp_path: Path) -> None:
    ticks = read_ticks(write(tmp_path / "t", step(1, 0), "m,read3,10,30", "m,burn,40,90"), lambda ns, _: ns + 1)
    assert ticks.markers.to_dict("list") == {
        "name": ["read3", "burn"],
        "before_ns": [10_001, 40_001],
        "after_ns": [30_001, 90_001],
    }
    assert read_ticks(write(tmp_path / "t", step(1, 0)), same).markers.empty


def test_blocks_generated_before_a_kill_are_counted(tmp_path: Path) -> None:
    assert read_ticks(write(tmp_path / "t", step(1, 0), "g,1,125", "g,2,250"), same).counts.blocks_generated == 250


def test_files_of_somebody_else(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="does not exist"):
        read_ticks(tmp_path / "t", same)
    (tmp_path / "t").write_text("t_us,gap_us\n1,2\n")
    with pytest.raises(TickdiskError, match="line 1: not a file of this tick probe"):
        read_ticks(tmp_path / "t", same)
    with pytest.raises(TickdiskError, match="holds no tick"):
        read_ticks(write(tmp_path / "t"), same)


def test_pauses_of_the_runtime_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t", step(1, 90_000), "p,ZMarkEnd,95000,95100", "p,gc,80000,80250", "p,,1", "p,gc,x,2", "e,1,100000,0"
    )
    ticks = read_ticks(path, same)
    assert ticks.pauses["name"].tolist() == ["gc", "ZMarkEnd"]
    assert ticks.pauses["begin_ns"].tolist() == [80_000_000, 95_000_000]
    assert ticks.pauses["end_ns"].tolist() == [80_250_000, 95_100_000]
    assert ticks.counts.rejected == 2
    table.write("pauses", tmp_path / "pauses.parquet", ticks.pauses)
