"""fio's replay of a plan: it is given what it can make, its log is of just that, and its times are on the plan's schedule."""

from pathlib import Path

import pytest
from replay_trace import made_by_hand, requests_table, row
from typer.testing import CliRunner

from tickdisk import replay
from tickdisk.cli import app
from tickdisk.foundation import process, table
from tickdisk.foundation.errors import TickdiskError


def prepared(planned: replay.ReplayPlan, target: Path) -> Path:
    replay.prepare(planned, target, sizes=replay.files_for_fio(planned))
    return target


def test_fio_replays_what_it_can_and_the_rest_is_counted(tmp_path: Path) -> None:
    planned = replay.plan(made_by_hand(4, threads=3, each=300)[0])
    replayed = replay.replay_by_fio(planned, prepared(planned, tmp_path / "target"), tmp_path / "fio")
    requests = planned.requests
    moved = requests[requests["op"].isin(["read", "write"]) & (requests["expected"] > 0)]
    timings = replayed.timings
    assert timings["seq"].tolist() == moved["seq"].tolist()
    assert timings["result"].tolist() == moved["expected"].tolist()
    assert timings["file"].tolist() == moved["file"].tolist()
    syncs = (requests["op"] == "sync") & ~requests["file"].isin(planned.folders)
    assert len(timings) + syncs.sum() + sum(replayed.left_out.values()) == len(requests)
    assert set(replayed.left_out) == {"neither read, write nor sync of a file", "sync of a folder", "failed or moved nothing"}
    assert timings["lag_ns"].isna().sum() > 0, "after a sync, which fio does not log"


def test_fios_times_are_on_the_plans_schedule(tmp_path: Path) -> None:
    """Ten reads, 100 ms apart, in each of two streams; the second begins at 500 ms."""
    rows = [
        row(thread, (thread - 1) * 500_000_000 + number * 100_000_000, "read", "shared", 4096, offset=4096 * number, length=4096)
        for thread in (1, 2)
        for number in range(10)
    ]
    planned = replay.plan(requests_table(sorted(rows, key=lambda request: int(str(request["start_ns"])))))
    timings = replay.replay_by_fio(planned, prepared(planned, tmp_path / "target"), tmp_path / "fio").timings
    late_ms = (timings["issued_ns"] - timings["due_ns"]) / 1e6
    assert late_ms.between(-2, 60).all(), "fio logs whole milliseconds, and is late by some"
    assert timings.groupby("thread")["issued_ns"].min().diff().iloc[1] == pytest.approx(500e6, abs=60e6)


def test_a_plan_without_reads_and_writes_is_none_for_fio(tmp_path: Path) -> None:
    planned = replay.plan(requests_table([row(1, 0, "sync", "shared", call="fsync")]))
    with pytest.raises(TickdiskError, match="no read and no write"):
        replay.replay_by_fio(planned, tmp_path / "target", tmp_path / "fio")


def test_names_with_blanks_get_others_and_nothing_else_changes(tmp_path: Path) -> None:
    rows = [
        row(1, 0, "read", "my world/map.sqlite", 4096, offset=0, length=4096),
        row(1, 1_000_000, "write", "my_world/map.sqlite", 4096, offset=0, length=4096),
        row(1, 2_000_000, "read", "plain", 4096, offset=0, length=4096),
    ]
    requests = requests_table(rows)
    table.write("requests", tmp_path / "requests.parquet", requests)
    planned, renamed = replay.rename_blanks(replay.plan(requests))
    assert renamed == {"my world": "my_world_2", "my world/map.sqlite": "my_world_map.sqlite"} or len(renamed) == 2
    assert not any(" " in name for name in {*planned.requests["file"], *planned.folders, *planned.beginning.sizes})
    assert planned.requests["file"].nunique() == 3
    words = ["replay", tmp_path / "requests.parquet", tmp_path / "target", "--for-fio", tmp_path / "fio"]
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert "3 requests of 1 streams" in done.stdout
    assert "  renamed   2 files and folders, as fio's format has no blanks in names: my world/map.sqlite is " in done.stdout
    process.run(["fio", str(tmp_path / "fio/replay.fio")])


def test_a_replay_by_fio_that_would_leave_out_nearly_all_is_refused(tmp_path: Path) -> None:
    rows = [row(1, at, "sync", "shared", call="sync") for at in range(0, 900, 100)]
    rows.append(row(1, 1000, "read", "shared", 4096, offset=0, length=4096))
    planned = replay.plan(requests_table(rows))
    with pytest.raises(TickdiskError, match=r"could replay only 1 of 10 reads, writes and syncs \(9 neither read"):
        replay.write_for_fio(planned, tmp_path / "target", tmp_path / "fio")
    assert not (tmp_path / "fio").exists()


def test_fio_fails_in_one_sentence(tmp_path: Path) -> None:
    planned = replay.plan(requests_table([row(1, 0, "read", "shared", 4096, offset=0, length=4096)]))
    target = prepared(planned, tmp_path / "target")
    (target / "shared").write_bytes(b"")
    with pytest.raises(TickdiskError, match="fio's replay failed"):
        replay.replay_by_fio(planned, target, tmp_path / "fio")


def test_a_capture_is_written_for_fio_by_hand(tmp_path: Path) -> None:
    requests = made_by_hand(5, threads=2, each=100)[0]
    table.write("requests", tmp_path / "requests.parquet", requests)
    words = ["replay", tmp_path / "requests.parquet", tmp_path / "target", "--for-fio", tmp_path / "fio"]
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0
    again, _ = replay.load_capture(tmp_path / "fio")
    assert done.stdout.splitlines()[1].startswith(
        f"{again['op'].isin(['read', 'write', 'sync']).sum()} requests of 2 streams in "
    )
    moved = replay.plan(requests).requests
    moved = moved[moved["op"].isin(["read", "write"]) & (moved["expected"] > 0)]
    assert again.groupby("op")["length"].sum()[["read", "write"]].tolist() == moved.groupby("op")["expected"].sum().tolist()
    process.run(["fio", str(tmp_path / "fio/replay.fio")])
    with pytest.raises(TickdiskError, match="give the TARGET folder"):
        CliRunner().invoke(app, ["replay", str(tmp_path / "requests.parquet"), "--for-fio", "x"], catch_exceptions=False)
    with pytest.raises(TickdiskError, match="fio is not empty"):
        CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    blank = [*words[:2], tmp_path / "my disk", "--for-fio", tmp_path / "other"]
    with pytest.raises(TickdiskError, match=r"could replay: .*a file name with blanks"):
        CliRunner().invoke(app, list(map(str, blank)), catch_exceptions=False)
    assert not (tmp_path / "my disk").exists()
