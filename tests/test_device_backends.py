"""What each backend says that it can do, and what it refuses, without a mount."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from replay_trace import ROOT, requests_table, row
from typer.testing import CliRunner

from tickdisk import device, replay
from tickdisk.cli.app import app
from tickdisk.device import BACKENDS, DeviceModel, Lognormal, Seek, floor
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError

BASE = {"read_latency_ns": 0, "write_latency_ns": 0, "flush_latency_ns": 0}
MODELS = {
    "memory": DeviceModel(name="memory", **BASE, bandwidth_bytes_per_s=19_200_000_000),
    "narrow": DeviceModel(name="narrow", **BASE, bandwidth_bytes_per_s=10**6),
    "constant": DeviceModel(name="constant", read_latency_ns=5, write_latency_ns=5, flush_latency_ns=5),
    "uneven": DeviceModel(name="uneven", read_latency_ns=5, write_latency_ns=6, flush_latency_ns=5),
    "lognormal": DeviceModel(
        name="lognormal",
        read_latency_ns=Lognormal(median_ns=5, sigma=0.1),
        write_latency_ns=5,
        flush_latency_ns=5,
    ),
    "channels": DeviceModel(name="channels", read_latency_ns=5, write_latency_ns=5, flush_latency_ns=5, channels=2),
    "arm": DeviceModel(
        name="arm",
        **BASE,
        channels=1,
        bandwidth_bytes_per_s=10**8,
        seek=Seek(least_ns=1, most_ns=2, span_bytes=10**9, revolution_ns=0),
    ),
}
TAKES = {
    "fuse": set(MODELS),
    "tree": set(MODELS) - {"arm"},
    "zram": {"memory"},
    "null_blk": {"memory", "narrow", "constant"},
    "folder": set(),
    "simulated": set(MODELS),
}


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_takes_what_it_can_be_and_refuses_the_rest(name: str) -> None:
    for model in MODELS.values():
        if model.name in TAKES[name]:
            BACKENDS[name].check_model(model)
        else:
            with pytest.raises(TickdiskError, match=f"backend {name} cannot be device {model.name}: "):
                BACKENDS[name].check_model(model)


def test_streams_wait_for_themselves_and_for_the_device_alone() -> None:
    """The oracle: a loop in Python over the same model, one event at a time."""
    model = DeviceModel(name="one", read_latency_ns=700, write_latency_ns=900, flush_latency_ns=2000, channels=1)
    rng, n = np.random.default_rng(4), 400
    stream, due_ns = rng.integers(0, 5, n), np.sort(rng.integers(0, 300_000, n))
    counts = rng.integers(0, 3, n)
    ops = rng.integers(0, 3, counts.sum())
    issued, completed = device.simulate_streams(
        model, device.Steps(stream, due_ns, counts), ops, np.zeros(len(ops)), np.full(len(ops), 4096)
    )
    first = np.concatenate([[0], np.cumsum(counts)])
    free_ns, done_ns, waiting = 0, dict.fromkeys(range(5), 0), {s: [i for i in range(n) if stream[i] == s] for s in range(5)}
    while any(waiting.values()):
        start_ns, step = min((max(int(due_ns[left[0]]), done_ns[s]), left[0]) for s, left in waiting.items() if left)
        last_ns = start_ns
        for op in ops[first[step] : first[step + 1]]:
            free_ns = max(free_ns, start_ns) + model.latency_ns[op]
            last_ns = free_ns
        assert (issued[step], completed[step]) == (start_ns, last_ns)
        done_ns[int(stream[step])] = last_ns
        waiting[int(stream[step])].pop(0)


@pytest.mark.parametrize("wrong", [{"ops": [4, 0]}, {"lengths": [-1, 1]}, {"requests": [1, 2]}, {"stream": [0, -1]}])
def test_wrong_steps_are_refused(wrong: dict[str, list[int]]) -> None:
    right = {"stream": [0, 1], "due_ns": [0, 0], "requests": [1, 1], "ops": [0, 1], "offsets": [0, 0], "lengths": [1, 1]} | wrong
    steps = device.Steps(right["stream"], right["due_ns"], right["requests"])
    with pytest.raises(TickdiskError, match="cannot be simulated"):
        device.simulate_streams(MODELS["constant"], steps, right["ops"], right["offsets"], right["lengths"])


def test_a_simulated_replay_charges_what_reaches_the_device() -> None:
    """Each time follows by hand: reads 100, writes 200, flushes 1000 ns; a page is read once and written when it is synced.

    The first fsync writes the data (200), the journal (200), flushes (1000), writes the commit (200) and flushes (1000).
    """
    model = DeviceModel(name="slow", read_latency_ns=100, write_latency_ns=200, flush_latency_ns=1000)
    place = {"offset": 0, "length": 8192}
    rows = [
        row(1, 0, "open", "a", 3),
        row(1, 10, "read", "a", 8192, **place),
        row(1, 20, "read", "a", 8192, **place),
        row(2, 50, "write", "a", 4096, offset=4096, length=4096),
        row(1, 300, "sync", "a", call="fsync"),
        row(1, 310, "sync", "a", call="fsync"),
        row(2, 5000, "read", "b", 100, offset=0, length=100),
        row(2, 5500, "unlink", "b"),
        row(2, 5600, "open", "b", errno=2),
    ]
    planned = replay.plan(requests_table(rows))
    timings = replay.issue_simulated(planned, model).timings
    assert timings["issued_ns"].tolist() == [0, 10, 110, 50, 300, 2900, 5000, 5500, 5600]
    assert timings["completed_ns"].tolist() == [0, 110, 110, 50, 2900, 3900, 5100, 5500, 5600]
    assert timings["lag_ns"].tolist() == [0] * 9
    assert timings["lost_ns"].clip(lower=0).tolist() == [0, 0, 90, 0, 0, 2590, 0, 0, 0]


def test_a_sync_commits_the_journal_only_for_what_it_must_keep() -> None:
    """Reads take 1, writes 10, flushes 100 ns: a commit is 10 + 100 + 10 + 100, a plain flush 100, and data 10."""
    model = DeviceModel(name="slow", read_latency_ns=1, write_latency_ns=10, flush_latency_ns=100)
    page = {"offset": 0, "length": 4096}
    steps = [
        (row(1, 0, "read", "a", 4096, **page), 1),
        (row(1, 1, "write", "a", 4096, **page), 0),
        (row(1, 2, "sync", "a", call="fdatasync"), 10 + 100),  # the same size: its times can wait
        (row(1, 3, "sync", "a", call="fsync"), 220),  # its times
        (row(1, 4, "write", "a", 4096, offset=4096, length=4096), 0),
        (row(1, 5, "sync", "a", call="fdatasync"), 10 + 220),  # its size
        (row(1, 6, "sync", "a", call="fdatasync"), 100),
        (row(1, 7, "write", "b", 4096, **page), 0),
        (row(1, 8, "sync", "b", call="fdatasync"), 10 + 220),  # a new file
        (row(1, 9, "unlink", "b"), 0),
        (row(1, 10, "sync", "", call="fsync"), 220),  # the folder
        (row(1, 11, "sync", "", call="fsync"), 100),
        (row(1, 12, "truncate", "a", length=4096), 0),
        (row(1, 13, "write", "a", 4096, **page), 0),
        (row(1, 14, "sync", "", call="sync"), 10 + 220),
        (row(1, 15, "sync", "a", call="fsync"), 100),  # all of it is in the last commit
    ]
    planned = replay.plan(requests_table([request for request, _ in steps]), root=ROOT)
    timings = replay.issue_simulated(planned, model).timings
    assert (timings["completed_ns"] - timings["issued_ns"]).tolist() == [ns for _, ns in steps]


def test_a_replay_without_a_device_says_so(tmp_path: Path) -> None:
    place = {"offset": 0, "length": 8192}
    rows = [row(1, 0, "open", "a", 3), row(1, 10, "read", "a", 8192, **place), row(1, 300, "sync", "a", call="fsync")]
    table.write("requests", tmp_path / "requests.parquet", requests_table(rows))
    said: list[str] = []
    slow = DeviceModel(name="slow", read_latency_ns=10**6, write_latency_ns=0, flush_latency_ns=2 * 10**6)
    bench = replay.ReplayBench(slow, 0, (replay.TICKDISK, replay.FIO), backend="simulated")
    made = replay.experiment(tmp_path, None, [bench], seconds=1, size_bytes=64 << 20, output=tmp_path / "out", say=said.append)
    (run,) = made.runs
    assert (run.tool, run.backend, run.file_system, run.device_requests) == ("tickdisk", "simulated", None, None)
    assert said[0].startswith("not made again: no call")
    assert "simulated, because nothing can be mounted here" in said[1]
    timings = table.read("replay", tmp_path / "out" / "tickdisk_slow.parquet")
    assert (timings["completed_ns"] - timings["issued_ns"]).tolist() == [0, 10**6, 2 * 10**6]
    devices = Path(__file__).parent.parent / "data/devices.yaml"
    by_hand = CliRunner().invoke(app, ["replay", str(tmp_path), "--simulate", "hdd", "--devices", str(devices)])
    assert "simulated: computed by the model, without a device" in by_hand.stdout
    own = tmp_path / "mydisk.yaml"
    own.write_text("mydisk: {read_latency_ns: 5000000, write_latency_ns: 0, flush_latency_ns: 9000000}", encoding="utf-8")
    timed = tmp_path / "own.parquet"
    mine = CliRunner().invoke(app, ["replay", str(tmp_path), "--simulate", str(own), "--output", str(timed)])
    assert mine.exit_code == 0, mine.output
    took = table.read("replay", timed)
    assert (took["completed_ns"] - took["issued_ns"]).tolist() == [0, 5 * 10**6, 9 * 10**6]
    both = CliRunner().invoke(app, ["replay", str(tmp_path), str(tmp_path / "new"), "--simulate", "hdd"])
    assert "not both" in str(both.exception)


def test_the_floor_of_a_slow_device_takes_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known to a thousandth of the latency after one round. Other devices take as many reads as they need."""

    def of(latency_ns: int) -> DeviceModel:
        return DeviceModel(name="x", read_latency_ns=latency_ns, write_latency_ns=1, flush_latency_ns=1)

    assert device.seconds_of_round(of(700_000_000)) == pytest.approx(4 * 0.7)
    assert device.seconds_of_round(of(5_000_000)) == pytest.approx(220 * 0.005)
    for latency_ns, excess_ns, settings in ((700_000_000, 600_000, [0]), (5_000_000, 60_000, [0, 60_000, 120_000, 180_000])):
        mounted, seen = Mock(), iter([excess_ns] * 4)
        monkeypatch.setattr(floor, "_excess_ns", lambda *_: next(seen))  # noqa: B023 - it is called in this round
        device.measure_floor(mounted, of(latency_ns))
        assert [call.kwargs["floor_ns"] for call in mounted.set.call_args_list] == settings
