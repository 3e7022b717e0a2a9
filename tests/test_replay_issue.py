"""The issuer on a trace made by hand: times in order, sizes as captured, files as a plain execution leaves them."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from replay_trace import ROOT, made_by_hand, requests_table, row

from benchmarks.replay_lag import random_reads
from tickdisk import replay
from tickdisk.foundation import memory, table
from tickdisk.foundation.errors import TickdiskError

TICKDISK = Path(sys.executable).parent / "tickdisk"


class PlainExecution:
    """The oracle for results and contents: one request after another in the order of the trace, one descriptor a path."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.descriptors = folder, dict[str, int]()

    def make(self, index: int, request: object) -> int:
        descriptors, path = self.descriptors, self.folder / request.file
        do: dict[str, Callable[[], int | None]] = {
            "open": lambda: self.open(request.file, create=request.expected >= 0, cuts=request.cuts),
            "close": lambda: os.close(descriptors.pop(request.file)),
            "read": lambda: len(os.pread(descriptors[request.file], request.length, request.offset)),
            "write": lambda: os.pwrite(descriptors[request.file], replay.payload(index, request.length), request.offset),
            "truncate": lambda: os.ftruncate(descriptors[request.file], request.length),
            "sync": lambda: None,
            "unlink": path.unlink,
            "rename": lambda: path.rename(self.folder / request.other) and None,
        }
        try:
            return do[request.op]() or 0
        except OSError as error:
            return -int(error.errno or 0)

    def open(self, file: str, *, create: bool, cuts: bool) -> None:
        flags = os.O_RDWR | (os.O_CREAT if create else 0) | (os.O_TRUNC if cuts else 0)
        self.descriptors[file] = os.open(self.folder / file, flags, 0o644)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def prepared(planned: replay.ReplayPlan, target: Path, files: Path | None) -> Path:
    replay.prepare(planned, target, files=files)
    return target


@pytest.fixture(params=["tmpfs", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "folder":
        yield tmp_path
    else:
        with memory.folder() as fast:
            yield fast


def test_the_replay_does_what_a_plain_execution_does(place: Path, tmp_path: Path) -> None:
    requests, shared = made_by_hand()
    files = tmp_path / "world"
    files.mkdir()
    (files / "shared").write_bytes(shared)
    planned = replay.plan(requests)
    assert (planned.root, planned.refused, planned.captured) == (ROOT, {}, len(requests))
    assert set(planned.requests["op"]) == {"open", "close", "read", "write", "truncate", "sync", "unlink", "rename"}
    oracle = PlainExecution(prepared(planned, place / "oracle", files))
    expected = [oracle.make(index, request) for index, request in enumerate(planned.requests.itertuples())]
    target = prepared(planned, place / "target", files)
    timings = replay.issue(planned, target).timings
    assert expected == planned.requests["expected"].tolist(), "the model that made the trace"
    assert timings["result"].tolist() == expected
    assert contents(target) == contents(oracle.folder)
    assert (timings["issued_ns"] >= timings["due_ns"]).all()
    assert (timings["completed_ns"] >= timings["issued_ns"]).all()
    for _, stream in timings.groupby("thread"):
        assert (stream["issued_ns"].iloc[1:].to_numpy() >= stream["completed_ns"].iloc[:-1].to_numpy()).all()
    due_ns = timings["due_ns"] - timings["due_ns"].iloc[0]
    assert due_ns.tolist() == (requests["start_ns"] - requests["start_ns"].iloc[0]).tolist()
    assert (timings["issued_ns"] - timings["due_ns"]).tolist() == (timings["lag_ns"] + timings["lost_ns"]).tolist()
    assert (timings["lag_ns"] >= 0).all()
    assert replay.summarise(timings).differing.total == 0


def test_without_a_folder_the_reads_find_data(place: Path) -> None:
    planned = replay.plan(made_by_hand(2)[0])
    target = prepared(planned, place / "target", None)
    reads = planned.requests.query("file == 'shared' and op == 'read' and expected > 0")
    size = (reads["offset"] + reads["expected"]).max()
    made = (target / "shared").stat()
    assert made.st_size == size
    assert made.st_blocks * 512 >= size, "real, allocated data"
    timings = replay.issue(planned, target).timings
    assert timings["result"].tolist() == planned.requests["expected"].tolist()


def test_what_comes_out_otherwise_is_counted(tmp_path: Path) -> None:
    """A short read, a long read, a request that fails and one that does not: each made on purpose."""
    rows = [
        row(1, 0, "open", "shared", 3),
        row(1, 10, "read", "shared", 100, offset=0, length=100),
        row(1, 20, "read", "shared", 30, offset=0, length=100),
        row(1, 30, "unlink", "gone"),
        row(1, 40, "unlink", "there", errno=errno.ENOENT),
        row(1, 50, "read", "shared", 50, offset=0, length=50),
    ]
    planned = replay.plan(requests_table(rows))
    target = prepared(planned, tmp_path / "target", None)
    (target / "shared").write_bytes(bytes(60))
    (target / "gone").unlink()
    (target / "there").touch()
    summary = replay.summarise(replay.issue(planned, target).timings)
    assert summary.differing == replay.Differing(short=1, long=1, failed=1, succeeded=1)


def test_a_stream_that_overtakes_another_opens_for_itself(tmp_path: Path) -> None:
    """The second stream reads a file that, in the capture, the first has opened; here the first comes to it too late."""
    rows = [
        row(1, 0, "open", "late", 3),
        row(2, 1, "read", "late", 0, offset=0, length=10),
        row(1, 2, "close", "late"),
        row(2, 3, "write", "late", 10, offset=0, length=10),
    ]
    planned = replay.plan(requests_table(rows))
    replayed = replay.issue(planned, prepared(planned, tmp_path / "target", None))
    assert replayed.timings["result"].tolist() == [0, 0, 0, 10]


def test_a_file_that_was_open_before_must_be_there(tmp_path: Path) -> None:
    planned = replay.plan(requests_table([row(1, 0, "read", "shared", 8, offset=0, length=8)]))
    assert planned.beginning.handles == {"shared": 1}
    with pytest.raises(TickdiskError, match="prepare the folder first"):
        replay.issue(planned, tmp_path)


def test_a_folder_in_use_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    planned = replay.plan(requests_table([row(1, 0, "read", "shared", 8, offset=0, length=8)]))
    with pytest.raises(TickdiskError, match="is not empty"):
        prepared(planned, tmp_path, None)


def test_known_reads_are_issued_when_they_are_due(tmp_path: Path) -> None:
    """Four streams of random reads; on a machine as busy as it may be when tests run, so only the median is held to 1 ms."""
    requests = random_reads(4, seconds=1, requests_per_s=200, rng=np.random.default_rng(1))
    planned = replay.plan(requests)
    summary = replay.summarise(replay.issue(planned, prepared(planned, tmp_path / "target", None)).timings)
    assert (summary.streams, summary.requests) == (4, 800)
    assert 0 <= (summary.lag_ns.p50 or 0) < 1_000_000


def test_a_replay_ends_when_it_is_told_to(tmp_path: Path) -> None:
    rows = [row(1, number * 3_600_000_000_000, "sync", "shared", call="fsync") for number in range(2)]
    table.write("requests", tmp_path / "requests.parquet", requests_table(rows))
    words = [TICKDISK, "replay", tmp_path / "requests.parquet", tmp_path / "target"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as running:
        while not (tmp_path / "target" / "shared").exists():
            time.sleep(0.05)
        time.sleep(1)
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 128 + signal.SIGTERM


def test_the_table_of_a_replay_is_written_and_read(tmp_path: Path) -> None:
    planned = replay.plan(made_by_hand(3, threads=2, each=50)[0])
    timings = replay.issue(planned, prepared(planned, tmp_path / "target", None)).timings
    table.write("replay", tmp_path / "t.parquet", timings)
    assert table.read("replay", tmp_path / "t.parquet").astype(object).equals(timings.astype(object))
    (tmp_path / "other.parquet").write_text("x")
    for name in ("other.parquet", "none.parquet"):
        with pytest.raises(TickdiskError, match=r"make it again|run the step that writes it"):
            table.read("replay", tmp_path / name)
