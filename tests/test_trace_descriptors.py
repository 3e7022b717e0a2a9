"""Requests come out as they were made, through every path that a descriptor can take; the oracle is a simulated machine."""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_text import REALTIME_NS, STARTED_NS, Machine, Row

from tickdisk import trace
from tickdisk.trace.calls import F_SETFD, F_SETFL, O_APPEND, O_CLOEXEC, O_TRUNC

FDS = st.integers(0, 6)
LENGTHS = st.integers(0, 5000)
PATHS = st.sampled_from(["/data", "/log", "near", "sub/file name", '/odd "quoted\\', "/missing", "gone/missing"])
FLAGS = st.sampled_from(
    [0, O_APPEND, O_TRUNC, O_CLOEXEC, O_APPEND | O_TRUNC, os.O_DSYNC, os.O_SYNC, os.O_DIRECT, os.O_DIRECT | os.O_SYNC]
)
STEPS = st.one_of(
    st.tuples(st.just("open"), PATHS, FLAGS),
    st.tuples(st.sampled_from(["read", "write_at_position"]), FDS, LENGTHS),
    st.tuples(st.just("positioned"), st.sampled_from(["pread64", "pwrite64"]), FDS, LENGTHS, LENGTHS),
    st.tuples(st.just("seek"), FDS, LENGTHS, st.integers(0, 2)),
    st.tuples(st.just("dup"), FDS, st.sampled_from(["dup", "dup2", "dup3", "fcntl"]), FDS),
    st.tuples(st.just("flag"), FDS, st.just(F_SETFD), st.integers(0, 1)),
    st.tuples(st.just("flag"), FDS, st.just(F_SETFL), st.sampled_from([0, O_APPEND, os.O_DIRECT])),
    st.tuples(st.just("with_flags"), FDS, LENGTHS, st.just(-1) | LENGTHS, st.sampled_from([0, 2, 4, 16, 32])),
    st.tuples(st.just("close"), FDS),
    st.tuples(st.just("chdir"), st.sampled_from(["/home", "/elsewhere"])),
    st.tuples(st.sampled_from(["socket", "fork", "thread", "execute"])),
)
CLOCKS = pd.DataFrame({"monotonic_ns": [STARTED_NS], "realtime_ns": [STARTED_NS + REALTIME_NS]})


def play(steps: list[tuple[int, tuple[object, ...]]]) -> Machine:
    """Each step is done by one of the processes that there are."""
    machine = Machine({"/log": 40, "/data": 3000, "/home/near": 7})
    for number, (name, *arguments) in steps:
        process = machine.processes[number % len(machine.processes)]
        if name in ("fork", "thread"):
            machine.fork(process, thread=name == "thread")
        else:
            getattr(machine, str(name))(process, *arguments)
    return machine


def seen(requests: pd.DataFrame) -> list[Row]:
    """The table as rows; a result that is an error's number comes back as it was."""
    return [
        Row(
            row.call,
            row.thread,
            None if pd.isna(row.file) else row.file,
            None if pd.isna(row.offset) else int(row.offset),
            None if pd.isna(row.length) else int(row.length),
            row.result - row.errno,
            None if pd.isna(row.storing) else row.storing,
        )
        for row in requests.itertuples()
    ]


def captured(machine: Machine, tool: str) -> trace.ParsedCapture:
    with TemporaryDirectory() as folder:
        return trace.parse(machine.write(Path(folder), tool), CLOCKS)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), STEPS), max_size=60))
def test_bpftrace_tells_every_request_as_it_was(steps: list[tuple[int, tuple[object, ...]]]) -> None:
    machine = play(steps)
    capture = captured(machine, "bpftrace")
    assert seen(capture.requests) == machine.rows
    assert (capture.summary.rejected, capture.summary.offsets_unknown, capture.summary.files_unknown) == (0, 0, 0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), STEPS), max_size=60))
def test_strace_tells_every_request_and_no_wrong_offset(steps: list[tuple[int, tuple[object, ...]]]) -> None:
    machine = play(steps)
    capture = captured(machine, "strace")
    rows = seen(capture.requests)
    assert [replace(row, offset=None) for row in rows] == [replace(row, offset=None) for row in machine.rows]
    unknown = [row for row, true in zip(rows, machine.rows, strict=True) if row.offset is None and true.offset is not None]
    assert all(row.offset in (None, true.offset) for row, true in zip(rows, machine.rows, strict=True))
    assert len(unknown) == capture.summary.offsets_unknown
    assert capture.summary.rejected == 0


def test_strace_knows_where_a_log_was_appended_to() -> None:
    """The size of `near` is told by nothing but its size at the end."""
    machine = play([(0, ("open", "near", O_APPEND)), *[(0, ("write_at_position", 3, length)) for length in (10, 20, 30)]])
    assert [row.offset for row in seen(captured(machine, "strace").requests)] == [None, 7, 17, 37]


def test_a_number_that_was_a_sockets_is_a_file_again() -> None:
    steps = [("socket",), ("write_at_position", 3, 1), ("close", 3), ("open", "/data", 0), ("read", 3, 10)]
    capture = captured(play([(0, step) for step in steps]), "bpftrace")
    assert [(row.call, row.file) for row in seen(capture.requests)] == [("openat", "/data"), ("read", "/data")]
    assert capture.summary.not_files == 2


@pytest.mark.parametrize("tool", ["bpftrace", "strace"])
@pytest.mark.parametrize("call", ["dup2", "dup3"])
def test_a_number_that_a_socket_took_from_a_file_is_a_files_no_more(call: str, tool: str) -> None:
    steps = [("read", 1, 5), ("flag", 0, F_SETFD, 1), ("read", 1, 6), ("dup", 0, call, 1), ("read", 1, 7), ("dup", 2, "dup2", 1)]
    capture = captured(play([(0, step) for step in [*steps, ("read", 1, 8)]]), tool)
    lengths = [(row.call, row.file, row.length) for row in seen(capture.requests)]
    assert lengths == [("read", "/log", 5), ("read", "/log", 6), ("dup2", "/data", None), ("read", "/data", 8)]


def test_exec_closes_what_it_is_to_close() -> None:
    """Descriptor 2 was opened with O_CLOEXEC before the capture began."""
    capture = captured(play([(0, ("read", 2, 10)), (0, ("execute",)), (0, ("read", 2, 10))]), "bpftrace")
    assert [(row.file, row.offset) for row in seen(capture.requests)] == [("/data", 5)]
    assert capture.summary.not_files == 1


@pytest.mark.parametrize("tool", ["bpftrace", "strace"])
def test_the_capture_of_a_compressed_file_is_the_same(tool: str, tmp_path: Path) -> None:
    machine = play([(0, ("read", 2, 10)), (0, ("fork",)), (1, ("write_at_position", 1, 3))])
    raw = machine.write(tmp_path, tool)
    raw.keep(tmp_path / "raw")
    again = trace.parse(trace.RawCapture(tmp_path / "raw" / "capture.txt.zst"), CLOCKS)
    pd.testing.assert_frame_equal(again.requests, trace.parse(raw, CLOCKS).requests)
    assert len(again.requests) == 2


def test_what_was_opened_while_the_probes_were_attached_is_known(tmp_path: Path) -> None:
    """The snapshot is taken after the probes are attached: what was opened in between is in both, what was closed in neither."""
    machine = play(
        [(0, ("open", "/data", 0)), (0, ("read", 3, 1)), (0, ("close", 2)), (0, ("open", "/log", 0)), (0, ("read", 2, 2))]
    )
    machine.snapshot["at_ns"] = machine.now_ns
    machine.snapshot["files"] = {"3": ["/data", 0, 1, 3000], "2": ["/log", 0, 2, 40], "5": ["/before", 0, 0, 9]}
    machine.read(machine.processes[0], 3, 4)
    machine.bpftrace.append(f"@r0[100, {machine.now_ns}]: (17, 100, {machine.now_ns + 5}, 8, 5, 8, 16)")
    machine.now_ns += 10
    requests = trace.parse(machine.write(tmp_path, "bpftrace"), CLOCKS).requests
    assert [(row.call, row.file, row.offset) for row in seen(requests)][1::2] == [
        ("read", "/data", 0),
        ("read", "/log", 0),
        ("pread64", "/before", 16),
    ]


def test_only_what_began_in_the_capture_is_told(tmp_path: Path) -> None:
    machine = play([(0, ("read", 2, 10))] * 3)
    before, after = STARTED_NS - 10, machine.now_ns + 10
    lines = [f"@r0[100, {start}]: (0, 100, {after + 5}, 1, 2, 1, 9)" for start in (before, after)]
    assert len(trace.parse(machine.write(tmp_path, "bpftrace", machine.bpftrace + lines), CLOCKS).requests) == 3
