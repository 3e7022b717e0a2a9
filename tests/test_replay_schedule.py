"""The schedule of a replay: needs against their definition, closed loops against the capture, and the files at the end."""

import errno
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_trace import ROOT, made_by_hand, requests_table, row
from typer.testing import CliRunner

from tickdisk import device, replay
from tickdisk.cli import app
from tickdisk.foundation import memory, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.replay.verify import left_by

MS = 1_000_000
CONTENT, LIFE, SYNC, WHOLE = range(4)
OPS = {
    "read": CONTENT,
    "write": CONTENT,
    "open": LIFE,
    "close": LIFE,
    "truncate": LIFE,
    "unlink": LIFE,
    "rename": LIFE,
    "fsync": SYNC,
    "syncfs": WHOLE,
}
CALL = st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 9), st.sampled_from([*OPS]), st.integers(0, 2))
"""Thread, pause before the call, its length, its operation, and its file."""


def traced(calls: list[tuple[int, int, int, str, int]]) -> tuple[replay.ReplayPlan, list[str]]:
    """Returns the plan of a trace in which each thread makes its calls one after another, and the operation of each row."""
    ends, rows = dict[int, int](), []
    for thread, pause, length, op, file in calls:
        begin = ends.get(thread, 0) + pause
        ends[thread] = begin + length
        place = {"offset": 0, "length": 10} if op in ("read", "write", "truncate") else {}
        renamed = {"renamed": f"{ROOT}/f{(file + 1) % 3}"} if op == "rename" else {}
        is_sync = OPS[op] in (SYNC, WHOLE)
        known = {"latency_ns": length, **place, **renamed, **({"call": op} if is_sync else {})}
        rows.append(row(thread, begin, "sync" if is_sync else op, f"f{file}", 0, **known) | {"kind": op})
    rows.sort(key=lambda call: int(str(call["start_ns"])))
    frame = requests_table(rows)
    return replay.plan(frame.drop(columns="kind"), root=ROOT), frame["kind"].tolist()


def must_precede(plan: replay.ReplayPlan, kinds: list[str], order: str) -> set[tuple[int, int]]:
    """The oracle: all pairs of requests of which the first must be completed before the second, by definition."""
    made = plan.requests
    begin, end = made["due_ns"].tolist(), (made["due_ns"] + made["captured_ns"]).tolist()
    files = [{file, other} if op == "rename" else {file} for op, file, other in made[["op", "file", "other"]].to_numpy()]
    pairs = set()
    for second in range(len(made)):
        ended = [first for first in range(second) if end[first] <= begin[second]]
        if ended:
            pairs.add((max(ended, key=lambda first: (end[first], first)), second))
        for first in ended if order == "strict" else ():
            of_a_life = OPS[kinds[first]] != CONTENT or OPS[kinds[second]] != CONTENT
            is_of_file = bool(files[first] & files[second]) and of_a_life
            if is_of_file or OPS[kinds[first]] in (SYNC, WHOLE) or OPS[kinds[second]] == WHOLE:
                pairs.add((first, second))
    return pairs


@pytest.mark.parametrize("order", ["ended", "strict"])
@given(calls=st.lists(CALL, min_size=1, max_size=25))
def test_needs_demand_what_the_order_says_and_nothing_else(calls: list[tuple[int, int, int, str, int]], order: str) -> None:
    plan, kinds = traced(calls)
    turns = replay.turns_of(plan, replay.Schedule(order))
    count = len(plan.requests)
    before = np.zeros((count, count), bool)
    of_stream = {stream: np.flatnonzero(turns.streams == stream) for stream in set(turns.streams.tolist())}
    for requests in of_stream.values():
        before[requests[:-1], requests[1:]] = True
    required = must_precede(plan, kinds, order)
    for need in turns.needs:
        first = int(of_stream[int(need["stream"])][int(need["count"]) - 1])
        assert (first, int(need["request"])) in required
        before[first, need["request"]] = True
    for middle in range(count):
        before |= np.outer(before[:, middle], before[middle])
    assert all(before[pair] for pair in required)


def test_each_order_demands_what_the_one_before_it_demands() -> None:
    plan = replay.plan(made_by_hand(threads=3, each=200)[0], root=ROOT)
    found = {order: replay.turns_of(plan, replay.Schedule(order)) for order in replay.ORDERS}
    assert len(found["thread"].needs) == 0 < len(found["ended"].needs) <= len(found["strict"].needs)
    made = np.arange(len(plan.requests)) * 10
    ready = [found[order].ready_ns(made) for order in replay.ORDERS]
    assert (ready[0] <= ready[1]).all()
    assert (ready[1] <= ready[2]).all()


def program(model: device.DeviceModel) -> replay.ReplayPlan:
    """Returns the plan of a capture on a model: two threads that read and compute, of which the second waits for the first."""
    rows = [
        row(1, 10 * MS, "read", "map", 4096, offset=0, length=4096),
        row(2, 12 * MS, "read", "map", 4096, offset=1 << 20, length=4096),
        row(1, 30 * MS, "read", "map", 4096, offset=2 << 20, length=4096),
        row(2, 40 * MS, "read", "map", 4096, offset=3 << 20, length=4096),
    ]
    plan = replay.plan(requests_table(rows), root=ROOT)
    timings = replay.issue_simulated(plan, model).timings
    return replace(plan, requests=plan.requests.assign(captured_ns=timings["completed_ns"] - timings["issued_ns"]))


FAST, SLOW = (
    device.DeviceModel(name=name, read_latency_ns=ns, write_latency_ns=ns, flush_latency_ns=ns)
    for name, ns in (("fast", MS), ("slow", 5 * MS))
)


@pytest.mark.parametrize("order", replay.ORDERS)
def test_a_closed_loop_on_the_captured_device_takes_as_long_as_the_capture(order: str) -> None:
    plan = program(FAST)
    timings = replay.issue_simulated(plan, FAST, schedule=replay.Schedule(order, "closed")).timings
    assert (timings["issued_ns"].to_numpy() == plan.requests["due_ns"].to_numpy()).all()
    assert timings["lag_ns"].eq(0).all()
    assert timings["lost_ns"].isna().all()


def test_a_slower_device_delays_all_that_follows_in_a_closed_loop() -> None:
    plan = program(FAST)
    thread, ended, double = (
        replay.issue_simulated(plan, SLOW, schedule=schedule).timings["issued_ns"].to_list()
        for schedule in (replay.Schedule("thread", "closed"), replay.Schedule("ended", "closed"), replay.Schedule(speed=2))
    )
    # Each read takes 4 ms more than it did. Without dependencies between threads, the second thread is late by its own read only.
    assert thread == [0, 2 * MS, 24 * MS, 34 * MS]
    # The second read began after the first had ended, the third after the second, and the last after the third.
    assert ended == [0, 6 * MS, 28 * MS, 42 * MS]
    assert double == [0, MS, 10 * MS, 15 * MS]


def test_at_once_the_requests_of_a_thread_follow_without_a_pause() -> None:
    timings = replay.issue_simulated(program(FAST), SLOW, schedule=replay.Schedule("thread", "at-once")).timings
    assert timings["issued_ns"].tolist() == [0, 0, 5 * MS, 5 * MS]


def test_the_least_time_is_that_of_a_device_without_latency() -> None:
    plan = program(FAST)
    found = {
        (order, pace): replay.turns_of(plan, replay.Schedule(order, pace)).least_s()
        for order, pace in [("thread", "captured"), ("ended", "closed"), ("strict", "at-once")]
    }
    assert found == pytest.approx({("thread", "captured"): 0.03, ("ended", "closed"): 0.027, ("strict", "at-once"): 0})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"order": "file"}, "the order 'file' is not known; give one of thread, ended, strict"),
        ({"pace": "fast"}, "the pace 'fast' is not known"),
        ({"speed": 0.0}, "the speed 0.0 is not above 0"),
        ({"speed": float("inf")}, "the speed inf is not above 0"),
        ({"speed": -1.0}, "the speed -1.0 is not above 0"),
        ({"pace": "at-once", "speed": 2.0}, "has no times that a speed could change"),
    ],
)
def test_a_wrong_schedule_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(TickdiskError, match=message):
        replay.Schedule(**wrong)


def test_a_trace_without_latencies_has_no_order_but_that_of_its_threads() -> None:
    rows = [row(thread, at, "read", "map", 10, offset=0, length=10, latency_ns=None) for at, thread in enumerate([1, 2, 1])]
    plan = replay.plan(requests_table(rows), root=ROOT)
    for schedule in (replay.Schedule("ended"), replay.Schedule("strict", "at-once"), replay.Schedule(pace="closed")):
        with pytest.raises(TickdiskError, match="the trace has no latencies, so nobody knows"):
            replay.turns_of(plan, schedule)
    assert len(replay.turns_of(plan, replay.Schedule(pace="at-once")).needs) == 0


def test_a_speed_of_nearly_nothing_is_refused() -> None:
    with pytest.raises(TickdiskError, match="takes more than a century; give a larger speed"):
        replay.turns_of(program(FAST), replay.Schedule(speed=1e-12))


def handed_on(times: int) -> pd.DataFrame:
    """Returns a trace in which one thread makes a file, another reads it, a third renames it, and the first removes it."""
    rows = []
    for number in range(times):
        at, new, old = number * 10 * MS, f"new{number}", f"old{number}"
        rows += [
            row(1, at, "open", new, 3),
            row(1, at + MS, "write", new, 5000, offset=0, length=5000),
            row(1, at + 2 * MS, "close", new),
            row(2, at + 3 * MS, "open", new, 4),
            row(2, at + 4 * MS, "read", new, 5000, offset=0, length=8192),
            row(2, at + 5 * MS, "close", new),
            row(3, at + 6 * MS, "rename", new, renamed=f"{ROOT}/{old}"),
            row(4, at + 7 * MS, "open", old, 5),
            row(4, at + 7 * MS + 5000, "truncate", old, length=100 + number),
            row(4, at + 8 * MS, "close", old),
            row(1, at + 9 * MS, "unlink", new, errno=errno.ENOENT),
        ]
    return requests_table(rows)


@pytest.mark.parametrize("pace", ["closed", "at-once"])
def test_a_strict_replay_leaves_the_captured_files_however_fast_it_is(pace: str) -> None:
    plan = replay.plan(handed_on(50), root=ROOT)
    with memory.folder() as fast:
        made = replay.prepare(plan, fast / "target")
        replayed = replay.issue(plan, fast / "target", schedule=replay.Schedule("strict", pace, 1000 if pace == "closed" else 1))
        verified = replay.verify(plan, fast / "target", made)
    assert (replayed.timings["result"] >= 0).sum() == (plan.requests["expected"] >= 0).sum()
    assert not replay.summarise(replayed.timings).differing.total
    assert verified.is_right, verified
    assert verified.sentence() == "all 50 have the names and sizes that the captured calls leave in their order"
    turns = replay.turns_of(plan, replay.Schedule("strict", pace))
    assert (replayed.timings["issued_ns"] >= turns.ready_ns(replayed.timings["completed_ns"])).all()


def test_the_files_after_a_replay_are_those_of_the_captured_calls() -> None:
    requests, _ = made_by_hand(threads=3, each=500)
    plan = replay.plan(requests, root=ROOT)
    with memory.folder() as fast:
        target = fast / "target"
        made = replay.prepare(plan, target)
        replay.issue(plan, target, schedule=replay.Schedule("strict", "at-once"))
        assert replay.verify(plan, target, made).is_right
        size = (target / "t0/data").stat().st_size
        (target / "shared").unlink()
        (target / "other").write_bytes(b"")
        with (target / "t0/data").open("ab") as file:
            file.write(b"more")
        found = replay.verify(plan, target, made)
    assert (found.missing, found.unexpected, found.sizes) == (("shared",), ("other",), {"t0/data": (size, size + 4)})
    assert found.sentence() == (
        f"of {found.files}, 1 missing, such as shared; 1 not expected, such as other; 1 of another size, such as t0/data with "
        f"{size + 4:,} bytes instead of {size:,}"
    )


def test_handles_outlive_names(tmp_path: Path) -> None:
    rows = [
        row(1, 0, "open", "f", 3),
        row(1, MS, "write", "f", 5000, offset=0, length=5000),
        row(1, 2 * MS, "open", "f.tmp", 4),
        row(1, 3 * MS, "write", "f.tmp", 100, offset=0, length=100),
        row(1, 4 * MS, "rename", "f.tmp", renamed=f"{ROOT}/f"),
        row(1, 5 * MS, "write", "f", 7000, offset=0, length=7000),
        row(1, 6 * MS, "close", "f"),
        row(1, 7 * MS, "write", "f.tmp", 200, offset=100, length=200),
        row(1, 8 * MS, "unlink", "gone", errno=errno.ENOENT),
    ]
    plan = replay.plan(requests_table(rows), root=ROOT)
    made = replay.prepare(plan, tmp_path / "target")
    assert replay.verify(plan, tmp_path / "target", made).missing == ("f",)
    replay.issue(plan, tmp_path / "target", schedule=replay.Schedule(pace="at-once"))
    assert left_by(plan, made) == {"f": 300}
    assert replay.verify(plan, tmp_path / "target", made).is_right


def test_waits_for_other_threads_count_as_time_behind() -> None:
    plan = program(FAST)
    summary = replay.summarise(replay.issue_simulated(plan, SLOW, schedule=replay.Schedule("ended")).timings)
    # The second read is due at 2 ms and waits for the first until 5 ms. Nothing else waits.
    assert (summary.behind_ns, summary.delayed) == (3 * MS, 1)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "requests.parquet"
    table.write("requests", path, handed_on(3).assign(queued_ns=None, volume=None))
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["replay", *map(str, arguments)])
    return result.exit_code, result.output + str(result.exception or "")


def test_the_command_says_what_it_takes_and_verifies_the_files(trace: Path, tmp_path: Path) -> None:
    code, said = run(trace, tmp_path / "target", "--order", "strict", "--pace", "closed", "--speed", "10")
    assert code == 0, said
    assert "33 requests take at least" in said
    assert "need up to 0.015 MB" in said
    assert "files       all 3 have the names and sizes that the captured calls leave in their order" in said
    assert "s here, 0.029 s in the capture" in said
    assert "delay " not in said


def test_the_command_refuses_what_takes_too_long(trace: Path, tmp_path: Path) -> None:
    code, said = run(trace, tmp_path / "target", "--most-minutes", "0.001", "--speed", "0.1")
    assert code != 0
    assert "33 requests take at least" in said
    assert "--most-minutes" in said
    assert not (tmp_path / "target").exists()
    code, said = run(trace, "--simulate", "hdd", "--pace", "at-once", "--order", "ended")
    assert code == 0, said
    assert "simulated" in said


def test_fio_replays_at_captured_times_only(trace: Path, tmp_path: Path) -> None:
    code, said = run(trace, tmp_path / "target", "--for-fio", tmp_path / "fio", "--order", "strict")
    assert code != 0
    assert "no --simulate, --output, --order, --pace or --speed" in said


def test_the_output_is_checked_before_the_replay(trace: Path, tmp_path: Path) -> None:
    for output, message in (
        (trace, "is what this command reads, so it is not replaced"),
        (tmp_path / "times.csv", "does not end in .parquet"),
        (tmp_path / "no/times.parquet", "does not exist"),
    ):
        code, said = run(trace, tmp_path / "target", "-o", output)
        assert code != 0
        assert message in said
        assert not (tmp_path / "target").exists()
    times = tmp_path / "times.parquet"
    for words in ((), ("--force",)):
        code, said = run(trace, "--simulate", "hdd", "-o", times, *words)
        assert code == 0, said
    assert len(table.read("replay", times)) == 33


def test_unknown_latencies_and_names_are_said_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    frame = handed_on(1).assign(queued_ns=None, volume=None, thread_name=None)
    table.write("requests", path, frame.assign(latency_ns=frame["latency_ns"].astype("Int64").mask(frame.index < 4)))
    code, said = run(path, "--simulate", "hdd", "--pace", "closed", "-o", tmp_path / "times.parquet")
    assert code == 0, said
    assert "4 of 11 requests have no latency in the trace" in said
