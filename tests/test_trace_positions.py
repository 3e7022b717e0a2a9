"""Reads and writes whose places the kernel decides, made at random in several processes, against what truly happened.

TICKDISK_POSITIONS says how many calls each tool sees (400; a release is checked with 10,000), and TICKDISK_SEED which ones.
`pytest -rP` shows the sums.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pandas as pd
import pytest
from position_oracle import Oracle, compare

from tickdisk import formats, trace
from tickdisk._native import TraceReader
from tickdisk.formats import native_table
from tickdisk.foundation import clock, memory, table
from tickdisk.trace.calls import CALLS
from tickdisk.trace.descriptors import CLOSED, FileHistory
from tickdisk.trace.program import points, program
from tickdisk.trace.requests import _at_once as at_once

MADE = int(os.environ.get("TICKDISK_POSITIONS", "400"))
SEED = int(os.environ.get("TICKDISK_SEED", "1"))
LIMIT_S = 60


KNOWN = """\
open("/w/a", O_RDWR|O_CREAT|O_EXCL, 0644) = 3
write(3, ""..., 1000) = 1000 @0
fcntl(3, F_SETFL, O_RDWR|O_APPEND) = 0
pwrite64(3, ""..., 70, 12) = 70 @1000
pwritev2(3, [{iov_base=""..., iov_len=30}], 1, 500, 0x20 /* RWF_??? */) = 30 @500
pwritev2(3, [{iov_base=""..., iov_len=20}], 1, -1, RWF_NOAPPEND) = 20 @1000
preadv2(3, [{iov_base=""..., iov_len=9}], 1, -1, 0) = 9 @1020
preadv2(3, [{iov_base=""..., iov_len=9}], 1, 8, 0) = 9 @8
dup(3) = 4
fcntl(4, F_SETFL, O_RDWR) = 0
write(3, ""..., 5) = 5 @1029
pwritev2(4, [{iov_base=""..., iov_len=40}], 1, 3, RWF_APPEND) = 40 @1070
pwritev2(4, [{iov_base=""..., iov_len=40}], 1, -1, RWF_APPEND) = 40 @1110
read(3, "", 100) = 0 @1150
fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 9000) = 0
fallocate(3, FALLOC_FL_ZERO_RANGE, 100, 8092) = 0
pwritev2(3, [{iov_base=""..., iov_len=1}], 1, 3, RWF_APPEND) = 1 @8192
fallocate(3, FALLOC_FL_INSERT_RANGE, 4096, 4096) = 0
pwritev2(3, [{iov_base=""..., iov_len=1}], 1, 3, RWF_APPEND) = 1 @12289
fallocate(3, FALLOC_FL_COLLAPSE_RANGE, 0, 8192) = 0
pwritev2(3, [{iov_base=""..., iov_len=1}], 1, 3, RWF_APPEND) = 1 @4098
rename("/w/a", "/w/b") = 0
link("/w/b", "/w/c") = 0
unlink("/w/b") = 0
truncate("/w/c", 77) = 0
open("/w/c", O_WRONLY|O_APPEND) = 5
write(5, ""..., 3) = 3 @77
pwritev2(3, [{iov_base=""..., iov_len=1}], 1, 3, RWF_APPEND) = 1 @80
ftruncate(3, 5) = 0
write(5, ""..., 3) = 3 @5
splice(6, NULL, 5, [300], 10, 0) = -1 EINVAL (Invalid argument)
write(5, ""..., 3) = 3 @8
lseek(3, 2, SEEK_DATA) = 2
read(3, ""..., 4) = 4 @2
open("/w/d", O_RDWR|O_CREAT, 0644) = 6
sendfile(6, 3, NULL, 5) = 5 @6 @0
copy_file_range(3, [1] => [5], 6, NULL, 4, 0) = 4 @1 @5
read(6, "", 4) = 0 @9
pwritev2(6, [{iov_base=""..., iov_len=1}], 1, 3, RWF_APPEND) = 1 @?
open("/w/c", O_WRONLY|O_APPEND|O_TRUNC) = 7
write(5, ""..., 3) = 3 @0
pwritev2(8, [{iov_base=""..., iov_len=1}], 1, -1, 0) = 1 @?
"""
"""Calls of one process as strace writes them, and behind them the places of their reads and writes, or a question mark."""
PERF_KNOWN = """\
openat(dfd: CWD, filename: 0x7f10, flags: RDWR|CREAT, mode: 0x1a4) = 8
readv(fd: 8, vec: 0x7f00, vlen: 1) ...
read(fd: 8</w/b>, buf: 0x7f00, count: 10) = 10 @?
openat(dfd: CWD, filename: 0x7f10, flags: RDWR|CREAT, mode: 0x1a4) = 3
write(fd: 3</w/a>, buf: 0x7f00, count: 10) = 10 @0
dup2(oldfd: 3</w/a>, newfd: 9</w/z>) = 9
lseek(fd: 9</w/z>, offset: 4, whence: SET) = 4
pwritev2(fd: 3, vec: 0x7f00, vlen: 1, pos_l: -1, pos_h: -1, flags: 32) = 7 @4
read(fd: 3</w/a>, buf: 0x7f00, count: 10) = 0 @11
fcntl(fd: 9</w/z>, cmd: SETFL, arg: RDONLY|APPEND) = 0
pwrite64(fd: 3</w/a>, buf: 0x7f00, count: 10, pos: 2) = 10 @?
write(fd: 3</w/a>, buf: 0x7f00, count: 10) = 10 @?
pwritev2(fd: 3, vec: 0x7f00, vlen: 1, pos_l: 2, flags: 32) = 7 @2
lseek(fd: 3</w/a>, offset: 5, whence: SET) = 5
read(fd: 3</w/a>, buf: 0x7f00, count: 10) = 2 @5
LOST 4 events!
read(fd: 3</w/a>, buf: 0x7f00, count: 10) = 2 @?
"""


def told(reader: str, calls: str, before: str) -> tuple[list[str], list[str]]:
    """Returns the places that known calls have by the reader of a format, and those that they should have."""
    lines = [line.partition(" @") for line in calls.splitlines()]
    read = TraceReader(reader)
    read.feed(
        "".join(f"{before.format(number) if '(' in line else ''}{line}\n" for number, (line, _, _) in enumerate(lines)).encode()
    )
    read.end()
    assert read.take_rejects() == []
    rows = table.frame("requests", native_table.requests_of(read, "syscall", 0))
    moved = rows[rows["op"].isin(["read", "write"])]
    places = ["?" if pd.isna(offset) else str(offset) for offset in moved["offset"]]
    return places, [place for _, _, known in lines if known for place in known.split(" @")]


def test_the_places_of_known_calls() -> None:
    for reader, calls, before in (("strace", KNOWN, "7 {}.0 "), ("perf-trace", PERF_KNOWN, "{}.000 ( 0.001 ms): a/7 ")):
        found, known = told(reader, calls, before)
        assert found == known


def test_calls_at_the_same_time_have_no_place_and_what_follows_has() -> None:
    lines = """\
7 0.0 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 8
7 1.0 open("/w/a", O_RDWR|O_CREAT|O_EXCL, 0644) = 3
7 2.0 write(3, ""..., 100) = 100
7 3.0 write(3, ""..., 100 <unfinished ...>
8 4.0 write(3, ""..., 50) = 50
8 5.0 pread64(3, ""..., 5, 9) = 5
7 6.0 <... write resumed>) = 100
7 7.0 write(3, ""..., 7) = 7
7 8.0 read(3,  <unfinished ...>
8 9.0 lseek(3, 20, SEEK_SET) = 20
7 10.0 <... read resumed>""..., 5) = 0
8 11.0 read(3, ""..., 3) = 3
8 12.0 lseek(3, 20, SEEK_SET) = 20
8 13.0 read(3, ""..., 3) = 3
"""
    read = TraceReader("strace")
    read.feed(lines.encode())
    read.end()
    rows = table.frame("requests", native_table.requests_of(read, "syscall", 0)).sort_values("start_ns")
    moved = rows[rows["op"].isin(["read", "write"])]
    places = [None if pd.isna(offset) else int(offset) for offset in moved["offset"]]
    assert places == [0, None, None, 9, 250, None, None, 20]


def test_the_position_after_two_calls_at_the_same_time_is_not_told_by_bpftrace() -> None:
    rows = [  # open file, start, end, op, whether it moves the position, whether its place is unknown
        (0, 0, 10, "read", True, False),
        (0, 10, 30, "write", True, True),
        (1, 15, 40, "read", True, False),
        (0, 20, 25, "read", True, True),
        (0, 26, 50, "read", False, False),
        (0, 28, 29, "seek", False, False),
        (0, 31, 32, "read", True, False),
        (CLOSED, 33, 60, "read", True, False),
        (CLOSED, 34, 61, "read", True, False),
    ]
    calls = pd.DataFrame(rows, columns=["of", "start_ns", "end_ns", "op", "moves", "unknown"])
    found = at_once(calls, calls, cast("FileHistory", SimpleNamespace(of=calls["of"])))
    assert found.tolist() == calls["unknown"].tolist()


def test_the_program_in_the_kernel_looks_where_a_write_went() -> None:
    """Each write with an offset of its own asks for the flags and the size of its file, and no read does."""
    branches = [line for line in program(1, points()).splitlines() if "$keep = 1" in line]
    for name, asks in {"pwrite64": True, "pwritev": True, "pwritev2": True, "pread64": False, "preadv2": False}.items():
        (branch,) = (line for line in branches if re.search(rf"\$id == {CALLS[name].number}\b", line))
        assert ("i_size" in branch) is asks, name


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of a real file system, whose path is short enough for perf to print it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="p") as folder:
        yield Path(folder)


def worker(place: Path) -> Path:
    program = place / "worker"
    source = Path(__file__).with_name("position_worker.c")
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", program], check=True)
    return program


def captured(tool: trace.Tool, oracle: Oracle, place: Path) -> trace.ParsedCapture:
    command = trace.Command([worker(place), oracle.address])
    with memory.folder() as fast, clock.Sampler() as clocks:
        with trace.start(tool, target=command, folder=fast / "capture", logs=place / "logs") as recording:
            assert recording.command is not None
            oracle.connected()
            oracle.run(MADE)
            assert recording.command.wait(LIMIT_S) == 0
            raw = recording.stop()
        (kept := place / "raw").mkdir()
        raw.keep(kept)
        if isinstance(sizes := raw.facts.get("sizes"), dict):
            own = {path: size for path, size in sizes.items() if path.startswith(f"{oracle.folder}/")}
            there = oracle.sizes()
            assert own == {path: there[path] for path in own}
            print(f"{tool}: {len(own)} sizes of {len(there)}, all right")
        return trace.parse(raw, clocks.table())


@pytest.mark.live
@pytest.mark.parametrize("tool", ["bpftrace", "strace"])
def test_a_capture_tells_where_calls_read_and_wrote(tool: trace.Tool, place: Path) -> None:
    if tool == "bpftrace" and (reason := trace.unavailable()):
        pytest.skip(reason)
    oracle = Oracle(place / "w", SEED)
    parsed = captured(tool, oracle, place)
    compared = compare(oracle.moved, parsed.requests)
    print(f"{tool}: {oracle.calls.total()} calls, {compared}")
    assert compared.wrong == []
    assert parsed.summary.rejected == 0


@pytest.mark.live
def test_perf_trace_tells_where_calls_read_and_wrote(place: Path) -> None:
    if shutil.which("perf") is None:
        pytest.skip("perf is missing")
    oracle, output = Oracle(place / "w", SEED), place / "perf.txt"
    words: list[str | Path] = ["perf", "trace", "-o", output, worker(place), oracle.address]
    with subprocess.Popen(words) as perf:
        try:
            oracle.connected()
            oracle.run(MADE)
            assert perf.wait(LIMIT_S) == 0
        finally:
            perf.kill()
    requests, (counts,) = formats.read([output])
    compared = compare(oracle.moved, requests, is_monotonic=False)
    print(f"perf trace: {oracle.calls.total()} calls, {compared}")
    assert compared.wrong == []
    assert counts.rejected == {}
