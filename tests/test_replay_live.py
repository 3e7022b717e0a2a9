"""A hand-made capture replayed on emulated devices, by ours and by fio: everything that the study claims, on a small scale."""

import re
import subprocess
import sys
from pathlib import Path

import changed_files
import pytest
from conftest import for_release
from records_of import plan_in
from replay_trace import ROOT, made_by_hand, requests_table, row
from test_replay_changes import tree

from tickdisk import device, replay, trace
from tickdisk.foundation import clock, memory, table
from tickdisk.studies import replay as replay_study

pytestmark = pytest.mark.live
TICKDISK = Path(sys.executable).parent / "tickdisk"


def model(name: str, latency_ns: int) -> device.DeviceModel:
    known = {"read_latency_ns": latency_ns, "write_latency_ns": latency_ns, "flush_latency_ns": latency_ns}
    return device.DeviceModel(name=name, **known)


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    """A life's folder: the requests of four threads, stretched to some seconds; its world is beside it."""
    requests, shared = made_by_hand(7, threads=4, each=400)
    requests["start_ns"] *= 200
    table.write("requests", tmp_path / "life" / "requests.parquet", requests)
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "shared").write_bytes(shared)
    return tmp_path / "life"


@for_release  # a run at scale smoke does the same
def test_the_experiment_from_capture_to_claims(captured: Path, tmp_path: Path) -> None:
    said: list[str] = []
    fast, slow = model("fast", 50_000), model("slow", 6_000_000)
    benches = [replay.ReplayBench(fast, 20_000, (replay.TICKDISK, replay.FIO)), replay.ReplayBench(slow, 100_000)]
    result = replay.experiment(
        captured, captured.parent / "world", benches, seconds=2, size_bytes=128 << 20, output=tmp_path / "out", say=said.append
    )
    assert [run.name for run in result.runs] == ["tickdisk_fast", "fio_fast", "tickdisk_slow"]
    assert result.captured == result.replayed + sum(result.refused.values())
    ours, fio, on_slow = result.runs
    assert ours.requests == on_slow.requests == result.replayed
    assert ours.differing.total == 0
    assert fio.requests + sum(fio.left_out.values()) <= result.replayed
    assert (ours.device_requests or {})["read"] > 0, "the caches were cold"
    assert (on_slow.service_ns.max or 0) >= 5_000_000
    assert on_slow.behind_ns > ours.behind_ns
    timings = table.read("replay", tmp_path / "out" / "tickdisk_slow.parquet")
    assert (timings["issued_ns"] - timings["due_ns"]).equals((timings["lag_ns"] + timings["lost_ns"]).astype("int64"))
    assert len(said) == 7
    study = replay_study(plan_in(tmp_path), replay=str(tmp_path / "out" / "replay.json"), seed=None)
    verdicts = {claim.id: claim.verdict for claim in study.statement.claims}
    assert verdicts["replay.nothing_lost"] == "kept"
    assert verdicts["replay.time_lost_to_the_device"] == "different"


def test_by_hand(captured: Path, tmp_path: Path) -> None:
    with device.up(model("fast", 50_000), size_bytes=128 << 20, floor_ns=20_000) as disk:
        target = disk.mount_point / "replay"
        words = [captured, target, "--files", captured.parent / "world", "--seconds", "1", "-o", tmp_path / "out.parquet"]
        done = subprocess.run([TICKDISK, "replay", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        again = subprocess.run([TICKDISK, "replay", *words, "--force"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) <= 25, "one screen"
    assert lines[0].startswith("Here the program would wait ")
    assert lines[1] == "not made    no call that changed files, as far as the capture tells"
    assert lines[2].startswith("streams     4: ")
    assert all(f"t{thread} " in lines[2] for thread in range(4))
    assert "results     all as captured" in done.stdout
    timings = table.read("replay", tmp_path / "out.parquet")
    counts = re.search(r"(\d+) captured = (\d+) replayed \+ (\d+) refused", done.stdout)
    assert counts is not None
    captured_there, replayed, refused = map(int, counts.groups())
    assert captured_there == replayed + refused
    assert replayed == len(timings)
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)
    assert replay.plan(*replay.load_capture(captured), seconds=1).root == ROOT


def test_what_is_computed_is_what_the_emulated_device_takes() -> None:
    """Syncs of every kind on ext4, far apart, so that each meets an idle device: the sums agree within a quarter."""
    step_ns, rows = 120_000_000, [row(1, 0, "read", "map", 1 << 20, offset=0, length=1 << 20)]
    for number in range(24):
        at_ns = (number + 1) * step_ns
        match number % 4:
            case 0 | 1:  # within the file
                rows.append(row(1, at_ns, "write", "map", 4096, offset=4096 * number, length=4096))
                rows.append(row(1, at_ns + 1000, "sync", "map", call="fdatasync" if number % 4 else "fsync"))
            case 2:  # the file grows
                rows.append(row(1, at_ns, "write", "log", 4096, offset=4096 * number, length=4096))
                rows.append(row(1, at_ns + 1000, "sync", "log", call="fdatasync"))
            case 3:  # as SQLite ends a transaction
                rows.append(row(1, at_ns, "write", "map-journal", 4096, offset=0, length=4096))
                rows.append(row(1, at_ns + 1000, "sync", "map-journal", call="fdatasync"))
                rows.append(row(1, at_ns + 2000, "unlink", "map-journal"))
                rows.append(row(1, at_ns + 3000, "sync", "", call="fsync"))
    planned = replay.plan(requests_table(rows), root=ROOT)
    slow = model("slow", 6_000_000)
    computed = replay.costs(replay.issue_simulated(planned, slow).timings)
    with device.up(slow, size_bytes=128 << 20, floor_ns=100_000) as disk:
        target = disk.mount_point / "replay"
        replay.prepare(planned, target)
        disk.remount()
        measured = replay.costs(replay.issue(planned, target).timings)
    assert measured.loc["sync", "requests"] == computed.loc["sync", "requests"] == 30
    total_ms = [table.loc["sync", "here_total_ms"] for table in (computed, measured)]
    assert total_ms[0] == pytest.approx(total_ms[1], rel=0.25), measured.to_string()


@pytest.mark.parametrize(
    "tool", [pytest.param("bpftrace", marks=pytest.mark.skipif(trace.unavailable() is not None, reason="bpftrace")), "strace"]
)
def test_a_captured_program_is_made_again_with_all_that_it_changed(tool: trace.Tool, tmp_path: Path) -> None:
    """Oracle: the files that the captured program itself left."""
    world, target = tmp_path / "world", tmp_path / "target"
    changed_files.before(world)
    command = trace.Command((sys.executable, "-I", changed_files.__file__, str(world)))
    with memory.folder() as fast, clock.Sampler() as clocks:
        with trace.start(tool, target=command, folder=fast, logs=tmp_path / "logs") as recording:
            assert recording.command is not None
            assert recording.command.wait(60) == 0
            raw = recording.stop()
        parsed = trace.parse(raw, clocks.table())
    assert not {kind: count for kind, count in parsed.lacks.items() if "moved" in kind or "change" in kind}
    planned = replay.plan(parsed.requests, root=str(world))
    assert planned.refused.keys() == {"outside the folder that is replayed", "failed in a way that cannot be repeated"}
    made = replay.prepare(planned, target)
    timings = replay.issue(planned, target).timings
    assert timings["result"].tolist() == timings["expected"].tolist()
    assert replay.verify(planned, target, made).is_right
    assert tree(target) == tree(world)
