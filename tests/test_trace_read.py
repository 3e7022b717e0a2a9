"""The readers: what does not parse is counted and kept, clocks are converted, waits and page faults are told apart."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_text import FIRST, REALTIME_NS, STARTED_NS, Machine

from tickdisk import trace
from tickdisk.foundation import table
from tickdisk.trace import program as programs
from tickdisk.trace import strace
from tickdisk.trace.calls import CALLS, NAMES
from tickdisk.trace.descriptors import follow
from tickdisk.trace.read_bpftrace import read_bpftrace
from tickdisk.trace.read_strace import read_strace
from tickdisk.trace.waits import wait_rows

CLOCKS = pd.DataFrame({"monotonic_ns": [STARTED_NS], "realtime_ns": [STARTED_NS + REALTIME_NS]})
T = STARTED_NS + 1_000_000
FUTEX, NANOSLEEP, PREAD, READ, EPOLL, MMAP, MUNMAP, NEWFSTATAT = 202, 35, 17, 0, 232, 9, 11, 262
SLEEPS, DISK, PREEMPTED = 1, 2, 256


def machine(reads: int = 3) -> Machine:
    made = Machine({"/log": 40, "/data": 3000})
    for _ in range(reads):
        made.read(made.processes[0], 2, 10)
    return made


def parsed(made: Machine, folder: Path, lines: list[str], tool: str = "bpftrace", **more: Any) -> trace.ParsedCapture:
    made.now_ns = STARTED_NS + 10_000_000_000
    own = made.bpftrace if tool == "bpftrace" else made.strace
    return trace.parse(made.write(folder, tool, own + lines), CLOCKS, **more)


def test_files_that_are_appended_to_are_found_whatever_their_names(tmp_path: Path) -> None:
    names = [b"plain", b'quo"te', b"back\\slash", b"line\nfeed", b"t\tab", b"na\xc3\xafve", b"\xff", b"\x019"]
    written = [b"plain", b'quo\\"te', b"back\\\\slash", b"line\\nfeed", b"t\\tab", b"na\\303\\257ve", b"\\377", b"\\0019"]
    for size, name in enumerate(names):
        (tmp_path / os.fsdecode(name)).write_bytes(b"x" * size)
    output = b"".join(b'7 openat(AT_FDCWD, "%s", O_WRONLY|O_APPEND) = 3\n' % name for name in written)
    assert strace._sizes(output, [tmp_path]) == {str(tmp_path / os.fsdecode(name)): size for size, name in enumerate(names)}


@settings(max_examples=100, deadline=None)
@given(
    garbage=st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), min_size=1), max_size=5), seed=st.randoms()
)
def test_lines_that_do_not_parse_are_kept_and_hurt_no_others(garbage: list[str], seed: Any) -> None:
    made = machine()
    kept = [f"? {line}" for line in garbage if line.strip()]
    lines = made.bpftrace + kept
    seed.shuffle(lines)
    reading = read_bpftrace("\n".join(lines).encode())
    assert (sorted(reading.rejects), len(reading.calls), reading.lines) == (sorted(kept), 3, len(lines) - 1)
    strace = read_strace("\n".join(made.strace + kept).encode(), [made.snapshot], {})
    assert (sorted(strace.rejects), len(strace.requests)) == (sorted(kept), 3)


@pytest.mark.parametrize("keep", [10, 30, 50])
def test_a_line_that_was_cut_off_is_rejected_and_its_event_lost(keep: int) -> None:
    made = machine()
    cut = [line[:keep] if line.startswith("@r") and number == 2 else line for number, line in enumerate(made.bpftrace)]
    reading = read_bpftrace("\n".join([*cut, "@events: 3"]).encode())
    assert (len(reading.calls), reading.lost, reading.rejects) == (2, 1, [made.bpftrace[2][:keep]])


def test_an_event_that_was_printed_twice_counts_once() -> None:
    made = machine()
    reading = read_bpftrace("\n".join([*made.bpftrace, made.bpftrace[-1], "@events: 5"]).encode())
    assert (len(reading.calls), reading.lost) == (3, 2)


def test_the_path_of_a_lost_call_is_not_another_calls() -> None:
    made = Machine({"/log": 40, "/data": 3000})
    for path in ("/log", "/data"):
        made.open(made.processes[0], path, 0)
        made.read(made.processes[0], 2, 10)
    lines, openings = made.bpftrace, [line for line in made.bpftrace if line.startswith("@r") and ": (257, " in line]
    assert len(openings) == 2
    for lost, paths in enumerate((["/data"], ["/log"])):
        reading = read_bpftrace("\n".join(line for line in lines if line != openings[lost]).encode())
        assert list(reading.calls["path"].dropna()) == paths
        assert list(reading.calls.loc[reading.calls["path"].notna(), "number"]) == [CALLS["openat"].number]


def test_what_bpftrace_says_itself_is_no_reject() -> None:
    own = [
        "Attaching 24 probes...",
        "",
        "@half: 1",
        "@turned: 0",
        "@busy[0]: 1",
        "@known[17]: 1",
        "@path[12]: 3",
        "beat 0 0 12 1 0 0 0",
    ]
    own += ["@woken[3]: (1, 2, 3, Emerge-0)", "@off[3]: (1, 2, -1, -1, 0)", "@call[7]: (5, 17, 3, 4, 5, 6, 7, 8)"]
    reading = read_bpftrace("\n".join(own).encode())
    assert (reading.rejects, reading.unfinished) == ([], 1)


def test_a_call_under_way_at_the_end_is_unfinished_and_one_that_ended_is_not() -> None:
    made = machine()
    thread, start = re.match(r"@r\d\[(\d+), (\d+)\]", made.bpftrace[-1]).groups()  # type: ignore[union-attr]
    lines = [*made.bpftrace, f"@call[{thread}]: ({start}, 0, 2, 0, 10, 0, 0, 0)", f"@call[900]: ({T}, 74, 2, 0, 0, 0, 0, 0)"]
    assert read_bpftrace("\n".join(lines).encode()).unfinished == 1


def test_bpftrace_stamps_are_taken_back_by_the_time_the_machine_was_suspended(tmp_path: Path) -> None:
    made, offset = machine(), 7_000_000_000
    facts = made.facts
    made.bpftrace = [re.sub(r"\d{13}", lambda ns: str(int(ns[0]) + offset), line) for line in made.bpftrace]
    made.facts = lambda tool: {**facts(tool), "clock_offset_ns": offset}  # type: ignore[method-assign]
    plain, late = parsed(machine(), tmp_path, []).requests, parsed(made, tmp_path, []).requests
    pd.testing.assert_frame_equal(plain, late)


def test_strace_stamps_realtime_which_the_clock_samples_convert(tmp_path: Path) -> None:
    made = machine()
    requests = parsed(made, tmp_path, [], "strace").requests
    assert requests["start_ns"].tolist() == [STARTED_NS + 1000 + 10 * number for number in range(3)]
    assert requests["latency_ns"].tolist() == [7] * 3


def test_the_tables_fit_their_schemas(tmp_path: Path) -> None:
    capture = parsed(machine(), tmp_path, [wait(T, T + 10, T + 20, DISK, PREAD, 2, T - 1)])
    assert capture.waits is not None
    table.write("requests", tmp_path / "requests.parquet", capture.requests)
    table.write("waits", tmp_path / "waits.parquet", capture.waits)
    assert (len(capture.requests), len(capture.waits)) == (3, 2)


def test_only_files_below_the_root_have_a_data_type(tmp_path: Path) -> None:
    made = machine(1)
    made.open(made.processes[0], "/world/map.sqlite", 0)
    requests = parsed(made, tmp_path, [], classify=lambda path: f"data of {path}", root=Path("/world")).requests
    assert requests["data"].tolist() == ["other", "data of /world/map.sqlite"]


def test_names_are_those_of_the_time(tmp_path: Path) -> None:
    made = machine(1)
    renamed = f"thread {FIRST} {FIRST} {made.now_ns} 0 0 0 0 Emerge-0 x"
    made.read(made.processes[0], 2, 1)
    made.fork(made.processes[0], thread=True)
    made.read(made.processes[0], 2, 1)
    names = parsed(made, tmp_path, [renamed]).requests["thread_name"]
    assert names.tolist() == ["first", "Emerge-0 x", ""]


def test_calls_that_go_past_the_table_are_counted(tmp_path: Path) -> None:
    lines = [f"@r0[{FIRST}, {T}]: (90, {FIRST}, {T + 5}, 0, -1, -1, -1)"]
    assert parsed(machine(), tmp_path, lines).summary.not_followed == {"chmod": 1}
    lines = [f'{FIRST}  {Machine._stamp(T)} chmod("/a", 0644) = 0 <0.000000005>']
    assert parsed(machine(), tmp_path, lines, "strace").summary.not_followed == {"chmod": 1}


def test_calls_that_change_files_are_requests(tmp_path: Path) -> None:
    """A copy from /from to /to, at places of its own and at those of the open files, and calls whose paths are relative."""
    made = machine()
    process, ids = made.processes[0], f"{FIRST} {FIRST}"
    for path in ("/from", "/to", "/folder"):
        made.open(process, path, 0)
    source, target, folder = (fd for fd, (opened, _) in process.table.items() if opened.path in ("/from", "/to", "/folder"))
    lines = [
        f"@r0[{FIRST}, {T}]: (326, {FIRST}, {T + 11}, 100, {source | target << 32}, 600, 100)",
        f"@r0[{FIRST}, {T + 20}]: (40, {FIRST}, {T + 26}, 7, {source | 60 << 32}, 57, 9)",
        f"@r0[{FIRST}, {T + 30}]: (275, {FIRST}, {T + 36}, 5, {60 | target << 32}, 0, 50)",
        f"@r0[{FIRST}, {T + 40}]: (285, {FIRST}, {T + 46}, 0, {target | 3 << 32}, 4096, 8192)",
        f"@r0[{FIRST}, {T + 50}]: (265, {FIRST}, {T + 59}, 0, {-100 & 0xFFFFFFFF}, 1024, {folder})",
        f"path {ids} {T + 56} 0 0 0 0 /proc/self/fd/{target}",
        f"to {ids} {T + 57} 0 0 0 0 new",
        f"@r0[{FIRST}, {T + 60}]: (266, {FIRST}, {T + 69}, 0, {folder}, -1, -1)",
        f"path {ids} {T + 66} 0 0 0 0 sub/link",
        f"to {ids} {T + 67} 0 0 0 0 ../new",
        f"@r0[{FIRST}, {T + 70}]: (263, {FIRST}, {T + 79}, 0, {folder}, 512, -1)",
        f"path {ids} {T + 76} 0 0 0 0 gone",
        f"@r0[{FIRST}, {T + 80}]: (16, {FIRST}, {T + 86}, 0, -1, -1, -1)",
        f"@r0[{FIRST}, {T + 90}]: (280, {FIRST}, {T + 96}, -13, -1, -1, -1)",
    ]
    capture = parsed(made, tmp_path, lines)
    rows = capture.requests[capture.requests["start_ns"] >= T].astype(object)
    found = rows[["op", "file", "renamed", "offset", "length", "flags", "latency_ns"]].where(rows.notna(), None)
    assert list(found.itertuples(index=False, name=None)) == [
        ("read", "/from", None, 500, 100, None, 5),
        ("write", "/to", None, 0, 100, None, 6),
        ("read", "/from", None, 50, 7, None, 6),
        ("write", "/to", None, 45, 5, None, 6),
        ("fallocate", "/to", None, 8192, 4096, 3, 6),
        ("link", "/to", "/folder/new", None, None, 1024, 9),
        ("symlink", "/folder/sub/link", "/folder/new", None, None, None, 9),
        ("rmdir", "/folder/gone", None, None, None, None, 9),
    ]
    assert capture.lacks == {"calls of ioctl that make a file share the data of another, and are in no request": 1}


def test_processes_that_only_started_the_traced_ones_are_left_out(tmp_path: Path) -> None:
    """Process 7 was in the cgroup to fork, 8 is its child: it counts from its exec on."""
    lines = [
        f"@r0[7, {T}]: (77, 7, {T + 5}, 0, 3, 9, -1)",
        f"newtask 7 7 {T + 10} 8 0 0 0",
        f"@r0[8, {T + 20}]: (77, 8, {T + 25}, 0, 3, 9, -1)",
        f"exec 8 8 {T + 30} 1 2 0 0 /bin/server",
        f"@r0[8, {T + 40}]: (77, 8, {T + 45}, 0, 3, 11, -1)",
    ]
    capture = parsed(machine(0), tmp_path, lines)
    assert capture.requests["length"].tolist() == [11]
    assert (capture.summary.other_processes, capture.summary.files_unknown) == (2, 1)


def wait(
    out: int, woken: int, back: int, state: int, number: int, fd: int, call_ns: int, *, waker: tuple[int, int, str] = (0, 0, "")
) -> str:
    by, by_number, name = waker
    return f"@w0[{FIRST}, {out}]: ({back}, {woken}, {state}, {number}, {fd}, {call_ns}, {by}, {by_number}, {name})"


EXIT = 60
HOLDER, WRITER, DISKS = (55, FUTEX, "Emerge-0"), (66, 1, "kworker/0:1"), (77, 0, "loop0")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # A lock: woken by the thread that let it go, then waiting for a core.
        (
            wait(T, T + 30, T + 50, SLEEPS, FUTEX, 0, T - 5, waker=HOLDER),
            [(T, T + 30, "lock", "futex", 55, "Emerge-0"), (T + 30, T + 50, "run_queue", "futex", None, None)],
        ),
        # A futex whose time was up: woken in an interrupt of whoever ran.
        (
            wait(T, T + 30, T + 50, SLEEPS, FUTEX, 0, T - 5, waker=WRITER),
            [(T, T + 30, "lock", "futex", None, None), (T + 30, T + 50, "run_queue", "futex", None, None)],
        ),
        # A join: woken by the kernel as the other thread ends. That one holds no lock.
        (
            wait(T, T + 30, T + 50, SLEEPS, FUTEX, 0, T - 5, waker=(55, EXIT, "helper")),
            [(T, T + 30, "sleep", "futex", 55, "helper"), (T + 30, T + 50, "run_queue", "futex", None, None)],
        ),
        (wait(T, 0, T + 9, PREEMPTED, PREAD, 2, T - 5), [(T, T + 9, "run_queue", "pread64", None, None)]),
        (wait(T, 0, T + 9, 0, 0, 0, 0), [(T, T + 9, "run_queue", "", None, None)]),
        (
            wait(T, T + 3, T + 9, DISK, PREAD, 2, T - 5, waker=DISKS),
            [(T, T + 3, "io", "pread64", 77, "loop0"), (T + 3, T + 9, "run_queue", "pread64", None, None)],
        ),
        # In a read of a file a thread can also sleep interruptibly, as on FUSE; on a socket it waits for its peer.
        (wait(T, 0, T + 9, SLEEPS, READ, 2, T - 5), [(T, T + 9, "io", "read", None, None)]),
        (wait(T, 0, T + 9, SLEEPS, READ, 0, T - 5), [(T, T + 9, "sleep", "read", None, None)]),
        (wait(T, 0, T + 9, SLEEPS, NANOSLEEP, 0, T - 5), [(T, T + 9, "sleep", "nanosleep", None, None)]),
        (wait(T, 0, T + 9, SLEEPS, EPOLL, 2, T - 5), [(T, T + 9, "sleep", "epoll_wait", None, None)]),
        (wait(T, 0, T + 9, DISK, NEWFSTATAT, 2, T - 5), [(T, T + 9, "io", "newfstatat", None, None)]),
        # State D in no call is a page fault; another thread's munmap, not the disk, may be what it waits for.
        (wait(T, 0, T + 9, DISK, 0, 0, 0), [(T, T + 9, "io", "fault", None, None)]),
        (
            wait(T, T + 9, T + 9, DISK, 0, 0, 0, waker=(55, MUNMAP, "other")),
            [(T, T + 9, "lock", "fault", 55, "other"), (T + 9, T + 9, "run_queue", "fault", None, None)],
        ),
        (wait(T, 0, T + 9, DISK, MMAP, 2, T - 5), [(T, T + 9, "lock", "mmap", None, None)]),
        # A number that nobody knows is shown as it is.
        (wait(T, 0, T + 9, SLEEPS, 4321, 2, T - 5), [(T, T + 9, "sleep", "syscall_4321", None, None)]),
    ],
)
def test_what_a_thread_waits_for(line: str, expected: list[tuple[object, ...]], tmp_path: Path) -> None:
    waits = parsed(machine(), tmp_path, [line]).waits
    assert waits is not None
    rows = [
        (start, end, kind, call, None if pd.isna(waker) else waker, None if pd.isna(name) else name)
        for start, end, kind, call, waker, name in zip(
            *(waits[name] for name in ("start_ns", "end_ns", "kind", "call", "waker", "waker_name")), strict=True
        )
    ]
    assert rows == expected
    assert set(waits["thread_name"]) == {"first"}


def test_a_call_that_had_ended_is_not_what_a_thread_waits_in(tmp_path: Path) -> None:
    """The last call that the thread entered has its row, so it had ended: state D is then a page fault."""
    made = machine()
    start = int(re.search(r", (\d+)\]", made.bpftrace[-1])[1])  # type: ignore[index]
    waits = parsed(made, tmp_path, [wait(T, 0, T + 9, DISK, READ, 2, start)]).waits
    assert waits is not None
    assert waits[["kind", "call"]].to_numpy().tolist() == [["io", "fault"]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.sampled_from([0, 1, 2, 256])), max_size=20)
)
def test_the_pieces_of_waits_cover_them_and_nothing_twice(times: list[tuple[int, int, int, int]]) -> None:
    made, lines, now, whole = machine(), [], T, 0
    for ran, blocked, queued, state in times:
        out = now + ran
        now = out + blocked + queued + 1
        whole += now - out
        lines.append(wait(out, out + blocked if state in (1, 2) and blocked else 0, now, state, FUTEX, 0, out - 1))
    reading = read_bpftrace("\n".join([*made.bpftrace, *lines]).encode())
    assert reading.waits is not None
    rows = wait_rows(reading, follow(reading, [made.snapshot]), 0)
    assert (rows["end_ns"] - rows["start_ns"]).sum() == whole
    assert (rows["start_ns"].to_numpy()[1:] >= rows["end_ns"].to_numpy()[:-1]).all()


def test_a_wait_that_did_not_end_lasts_to_the_end_of_the_capture(tmp_path: Path) -> None:
    capture = parsed(machine(), tmp_path, [f"@off[{FIRST}]: ({T}, 2, 17, 2, {T - 5})"])
    assert capture.waits is not None
    assert capture.waits[["start_ns", "end_ns", "kind"]].to_numpy().tolist() == [[T, capture.summary.ended_ns, "io"]]


def test_a_thread_is_absent_before_it_begins_and_after_it_has_ended(tmp_path: Path) -> None:
    lines = [
        f"newtask {FIRST} {FIRST} {T} {FIRST + 7} 65536 0 0",
        f"end {FIRST} {FIRST + 7} {T + 40} 0 0 0 0",
        f"newtask {FIRST} {FIRST} {T + 60} {FIRST + 7} 65536 0 0",
        "end 9999 9999 5 0 0 0 0",  # of a process that is not captured
    ]
    capture = parsed(machine(), tmp_path, lines)
    assert capture.waits is not None
    absent = capture.waits[capture.waits["kind"] == "absent"]
    started = capture.summary.started_ns
    assert absent[["thread", "start_ns", "end_ns"]].to_numpy().tolist() == [[FIRST + 7, started, T], [FIRST + 7, T + 40, T + 60]]
    assert capture.summary.rejected == 0


def test_a_page_fault_has_its_file_and_lasts_as_long_as_its_wait(tmp_path: Path) -> None:
    device = 8 << 20 | 1
    made = machine(1)
    made.snapshot["maps"] = [[4096, 8192, 0, "8:1", 77, "/lib/code.so"]]
    lines = [
        f"@r0[{FIRST}, {T}]: (-1, {FIRST}, {T}, 0, {device}, 77, 8192)",  # cached: no wait before the next
        f"@r0[{FIRST}, {T + 100}]: (-1, {FIRST}, {T + 100}, 0, {device}, 78, 4096)",
        wait(T + 105, T + 500, T + 510, DISK, 0, 0, 0),
        f"@r0[{FIRST}, {T + 520}]: (-1, {FIRST}, {T + 520}, 0, {device}, 78, 4096)",  # the same, tried again
        wait(T + 900, T + 950, T + 960, SLEEPS, FUTEX, 0, T + 890),
        f"inode {FIRST} {FIRST} {T - 50} 2 {device} 78 0",
    ]
    requests = parsed(made, tmp_path, lines).requests
    faults = requests[requests["op"] == "fault"]
    columns = ["file", "offset", "length", "latency_ns", "result"]
    assert faults[columns].to_numpy().tolist() == [["/lib/code.so", 8192, 4096, 0, 0], ["/data", 4096, 4096, 400, 0]]


def test_a_page_fault_in_the_middle_of_an_opening_does_not_take_its_path(tmp_path: Path) -> None:
    made = machine(1)
    lines = [
        f"@r0[{FIRST}, {T}]: (257, {FIRST}, {T + 90}, 9, -100, 0, -1)",
        f"@r0[{FIRST}, {T + 20}]: (-1, {FIRST}, {T + 20}, {T}, 1, 2, 0)",
        f"path {FIRST} {FIRST} {T + 80} 0 0 0 0 /library",
    ]
    requests = parsed(made, tmp_path, lines).requests
    assert requests.loc[requests["start_ns"] >= T, ["op", "file"]].to_numpy().tolist() == [["open", "/library"], ["fault", None]]


def test_where_only_the_page_cache_tells_what_a_read_brought_in_is_no_fault(tmp_path: Path) -> None:
    made = machine(1)
    facts = made.facts
    made.facts = lambda tool: {**facts(tool), "faults": programs.FAULT_POINTS[1]}  # type: ignore[method-assign]
    ended = int(re.search(r", (\d+)\]", made.bpftrace[-1])[1])  # type: ignore[index]
    lines = [
        f"@r0[{FIRST}, {T}]: (-1, {FIRST}, {T}, {ended}, 1, 2, 0)",  # the read had ended
        f"@r0[{FIRST}, {T + 10}]: (17, {FIRST}, {T + 90}, 5, 2, 5, 0)",
        f"@r0[{FIRST}, {T + 20}]: (-1, {FIRST}, {T + 20}, {T + 10}, 1, 2, 0)",  # in the middle of the pread
        f"@r0[{FIRST}, {T + 100}]: (-1, {FIRST}, {T + 100}, 0, 1, 2, 0)",
    ]
    requests = parsed(made, tmp_path, lines).requests
    assert (requests.loc[requests["op"] == "fault", "start_ns"] - T).tolist() == [0, 100]


def test_msync_is_of_the_file_that_was_mapped_there_last(tmp_path: Path) -> None:
    made = machine(1)
    made.open(made.processes[0], "/log", 0)
    lines = [
        f"@r0[{FIRST}, {T}]: (9, {FIRST}, {T + 5}, 65536, 2, 8192, 4096)",
        f"@r0[{FIRST}, {T + 10}]: (26, {FIRST}, {T + 15}, 0, -1, 4096, 69632)",
        f"@r0[{FIRST}, {T + 20}]: (9, {FIRST}, {T + 25}, 65536, 3, 8192, 0)",
        f"@r0[{FIRST}, {T + 30}]: (26, {FIRST}, {T + 35}, 0, -1, 4096, 69632)",
        f"@r0[{FIRST}, {T + 40}]: (26, {FIRST}, {T + 45}, -12, -1, 4096, 999424)",
    ]
    requests = parsed(made, tmp_path, lines).requests
    synced = requests[requests["call"] == "msync"]
    assert synced["file"].tolist()[:2] == ["/data", "/log"]
    assert synced["offset"].tolist()[:2] == [8192, 4096]
    assert pd.isna(synced["file"].iloc[2])
    assert synced["errno"].tolist() == [0, 0, 12]


def test_the_numbers_of_system_calls_are_the_kernels() -> None:
    """Oracle: <asm/unistd_64.h>, by the C compiler that the set-up installs."""
    source = subprocess.run(
        ["gcc", "-E", "-dM", "-include", "asm/unistd_64.h", "-x", "c", "/dev/null"], capture_output=True, text=True, check=True
    ).stdout
    numbers = {name: int(number) for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", source, re.MULTILINE)}
    known = {name: number for number, name in NAMES.items() if name in numbers}
    assert known == {name: numbers[name] for name in known}
    assert set(NAMES.values()) - numbers.keys() <= {
        "futex_wait",
        "futex_waitv",
        "epoll_pwait2",
        "fchmodat2",
    }  # newer than some headers


def test_the_program_asks_for_every_call_and_for_what_the_kernel_has() -> None:
    points = programs.points()
    whole = programs.program(4242, points)
    assert not re.search(r"\b(CGROUP|POINTERS|CALLS|PATH_POINTS|TO_POINTS|KEEP)\b", re.sub(r"//.*", "", whole))
    assert all(re.search(rf"\$id == {call.number}\b", whole) for call in CALLS.values())
    assert whole.count("cgroup == 4242") >= 9
    assert programs.FAULT_POINTS[1] not in whole
    old = [point for point in points if point not in (programs.FAULT_POINTS[0], "syscalls:sys_exit_openat2")]
    assert f"tracepoint:{programs.FAULT_POINTS[1]}" in programs.program(1, old)
    assert "sys_exit_openat2" not in programs.program(1, old)
    assert programs.missing(old) == ["syscalls:sys_exit_openat2"]
    assert programs.missing(points) == []
    assert programs.missing(set(points) - set(programs.FAULT_POINTS)) == [programs.FAULT_POINTS[0]]


def test_a_descriptor_that_is_taken_again_while_its_close_runs_is_the_new_file() -> None:
    stamp = Machine._stamp
    lines = [
        f'7  {stamp(T)} openat(AT_FDCWD, "/old", O_RDONLY) = 5 <0.000000100>',
        f"7  {stamp(T + 1000)} close(5 <unfinished ...>",
        f'8  {stamp(T + 2000)} openat(AT_FDCWD, "/new", O_RDONLY) = 5 <0.000000100>',
        f"7  {stamp(T + 3000)} <... close resumed>) = 0 <0.000002000>",
        f"8  {stamp(T + 4000)} read(5, 0x7f, 10) = 0 <0.000000100>",
    ]
    snapshot = {**machine().snapshot, "pid": 7, "threads": {"7": "a", "8": "b"}}
    requests = read_strace("\n".join(lines).encode(), [snapshot], {}).requests
    assert requests["file"].tolist() == ["/old", "/new", "/old", "/new"]
