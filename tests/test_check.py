"""A check of a server, where the truth is known: servers are found, late ticks have their causes, and the screen fits."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_blame_simulation import MAP, MS, START_NS, ticking
from test_blame_simulation import Machine as Simulated

from tickdisk import check, device, rights, trace
from tickdisk.check import Advice, FoundServer, Interval, Look, Phase
from tickdisk.check.others import Computed, computed_since, others_of, processes
from tickdisk.check.record import Instrument
from tickdisk.foundation import memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.machine import Machine
from tickdisk.foundation.process import state_of
from tickdisk.foundation.record import read, write
from tickdisk.foundation.waiting import TickCause

OFFSET_NS = 1_700_000_000 * 1_000_000_000
SERVER = FoundServer(
    12, "java", "java -jar server.jar", ("25565/tcp",), next(kind for kind in check.KINDS if kind.name == "java")
)
OTHER = replace(SERVER, kind=None)


def process(proc: Path, pid: int, comm: str, *threads: str, program: bytes = b"\x7fELF", command: str = "x") -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "comm").write_text(f"{comm}\n")
    (folder / "cmdline").write_bytes(command.replace(" ", "\0").encode())
    (folder / "exe").write_bytes(program)
    for number, name in enumerate((comm, *threads)):
        (folder / f"task/{pid + number}").mkdir(parents=True)
        (folder / f"task/{pid + number}/comm").write_text(f"{name}\n")


def test_servers_are_found_by_program_thread_and_module(tmp_path: Path) -> None:
    process(tmp_path, 10, "luantiserver")
    process(tmp_path, 20, "minetestserver-5.6")
    process(tmp_path, 30, "java", "GC Thread#0", "Server thread")
    process(tmp_path, 40, "java", "Ms-TickScheduler")
    process(tmp_path, 50, "java", "GC Thread#0")
    process(tmp_path, 60, "server", program=b"\x7fELF..\xff Go buildinf:..path\tgithub.com/df-mc/dragonfly\n")
    listening(tmp_path / "60")
    process(tmp_path, 70, "caddy", program=b"\x7fELF..\xff Go buildinf:..path\tgithub.com/caddyserver/caddy\n")
    process(tmp_path, 80, "bedrock_server")
    process(tmp_path, 90, "kthread", command="")
    (tmp_path / "self").mkdir()
    found = check.find_servers(tmp_path)
    kinds = [(one.pid, one.kind.name if one.kind else None) for one in found]
    assert kinds == [(10, "luanti"), (20, "luanti"), (30, "java"), (40, "minestom"), (60, "dragonfly"), (80, "bedrock")]
    assert check.server_of(50, tmp_path).kind is None
    with pytest.raises(TickdiskError, match="process 11 does not run"):
        check.server_of(11, tmp_path)


def test_ports_are_those_on_which_the_process_itself_listens(tmp_path: Path) -> None:
    process(tmp_path, 10, "bedrock_server")
    listening(tmp_path / "10")
    [found] = check.find_servers(tmp_path)
    assert found.ports == ("19132/udp", "25565/tcp")


def listening(folder: Path) -> None:
    """Gives a process sockets on two ports, next to a connection, a pipe, and a socket of another process."""
    (folder / "fd").mkdir()
    (folder / "net").mkdir()
    for number, target in ((3, "socket:[1]"), (4, "socket:[2]"), (5, "pipe:[9]"), (6, "socket:[3]")):
        (folder / f"fd/{number}").symlink_to(target)
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    line = "   0: 00000000:{:04X} 00000000:0000 {} 00000000:00000000 00:00000000 00000000     0        0 {} 2 0 0\n"
    (folder / "net/udp").write_text(head + line.format(19132, "07", 1) + line.format(5353, "07", 8))
    (folder / "net/tcp").write_text(head + line.format(25565, "0A", 2) + line.format(40000, "01", 3))


def seen(bodies: Sequence[Sequence[tuple[object, ...]]], name: str = "Server thread", **more: int) -> Look:
    """A look at a server of 50 ms whose ticks have these bodies."""
    machine = Simulated({name: ticking(*bodies, budget_ns=50 * MS)}, cores=2, **more)
    evidence = replace(machine.evidence(), ticks=None, device=None, extents=None)
    intervals = [Interval(phase, 0.5, 0.1, 0.01) for phase in (Phase.FREE, Phase.CAPTURED) for _ in range(10)]
    return Look([evidence], intervals, OFFSET_NS - START_NS)


def judged(look: Look, found: FoundServer = SERVER) -> check.Verdict:
    return check.judge(found, look, np.random.default_rng(1))


QUIET = [[("run", 5 * MS)]] * 120


def test_a_server_that_keeps_its_pace_has_no_lag() -> None:
    verdict = judged(seen(QUIET))
    assert verdict.ticks is not None
    assert (verdict.ticks.are_told, verdict.ticks.late, verdict.causes, verdict.advice) == (True, 0, (), (Advice.NOTHING,))
    assert (verdict.ticks.per_s, verdict.ticks.budget_ms) == (pytest.approx(20, rel=0.01), pytest.approx(50, rel=0.01))
    assert verdict.ticks.busy_ms == pytest.approx(5, abs=0.2)
    assert check.screen(verdict)[0].startswith("NO LAG: none of 1")


def test_syncs_in_the_thread_that_ticks_are_the_disk_and_say_how_fast_it_would_have_to_be() -> None:
    """A sync takes three requests of 40 ms here. The loop is then late by two turns, and computes for 15 ms until it rests."""
    late = [[("run", 5 * MS)]] * 30 + [[("run", 5 * MS), ("sync", MAP)]]
    verdict = judged(seen([*late * 4, *QUIET], read_ns=40 * MS))
    assert verdict.cause is TickCause.STORAGE
    assert verdict.causes[0].ticks == 4
    assert verdict.causes[0].late_ms == pytest.approx(4 * 100, rel=0.02)
    [wait] = verdict.waits
    assert (wait.folder, wait.files, wait.call, wait.count) == ("/w", ("map.sqlite",), "fdatasync", 4)
    assert (wait.total_ms, wait.longest_ms) == (pytest.approx(480, rel=0.01), pytest.approx(120, rel=0.01))
    assert verdict.needed is not None
    assert verdict.needed.factor == pytest.approx(60 / 120, rel=0.02)
    assert verdict.needed.sync_ms == pytest.approx(120, rel=0.01)
    assert verdict.advice == (Advice.FASTER_FLUSHES, Advice.SAVE_APART)
    lines = check.screen(verdict)
    assert "the biggest cause is the disk, and a faster disk would help" in lines[0]
    assert any("w/map.sqlite 4 times, 480 ms, the longest 120 ms" in line for line in lines)
    assert verdict.moments[0].unix_s == pytest.approx(OFFSET_NS / 1e9 + 30 * 0.05, abs=0.2)


def test_computing_is_not_blamed_on_the_disk() -> None:
    late = [[("run", 5 * MS)]] * 30 + [[("run", 150 * MS), ("sync", MAP)]]
    verdict = judged(seen([*late * 4, *QUIET], read_ns=MS))
    assert (verdict.cause, verdict.needed, verdict.advice) == (TickCause.CPU, None, (Advice.COMPUTING,))
    assert "the biggest cause is computing, and a faster disk would not help" in check.screen(verdict)[0]


@pytest.mark.parametrize("processor_s", [0.2, 10.0], ids=["own threads", "another program"])
def test_a_server_that_waits_for_a_core_is_told_who_took_it(processor_s: float) -> None:
    """A thread of the same process takes the only core for 200 ms now and then. Another program computed for longer, or not."""
    programs = {"Server thread": ticking(*QUIET, budget_ns=50 * MS), "worker": [("sleep", 1300 * MS), ("run", 200 * MS)] * 4}
    evidence = replace(Simulated(programs, cores=1).evidence(), ticks=None, device=None, extents=None)
    intervals = [Interval(Phase.CAPTURED, 0.5, 0.25, 0.01)]
    others = [Computed(7, "sshd", 0.1), Computed(8, "miner", processor_s)]
    verdict = judged(replace(seen(QUIET), captures=[evidence], others=others, intervals=intervals))
    assert verdict.cause is TickCause.RUN_QUEUE
    assert verdict.advice == ((Advice.CORES,) if processor_s > 1 else (Advice.OWN_THREADS,))
    assert verdict.others[0].program == "miner"
    [line] = [line for line in check.screen(verdict) if line.startswith("Other programs computed meanwhile: ")]
    assert "miner (process 8)" in line


def test_programs_that_computed_are_added_up_by_name_without_the_server_and_this_process() -> None:
    code = "import time\nuntil = time.process_time() + 0.3\nwhile time.process_time() < until: pass\ntime.sleep(60)"
    before = processes()
    # The shell ends, so that its process is nobody's child.
    words = ["sh", "-c", '"$1" -c "$2" >/dev/null 2>&1 & echo $!', "sh", sys.executable, code]
    other = int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    own = subprocess.Popen([sys.executable, "-c", code])
    try:
        until_s = time.monotonic() + 30
        while not {other} <= (found := {one.pid for one in computed_since(before, 1)}) and time.monotonic() < until_s:
            time.sleep(0.1)
        assert other in found
        assert not {own.pid, os.getpid()} & found
        assert other not in {one.pid for one in computed_since(before, other)}
    finally:
        own.kill()
        own.wait()
        os.kill(other, signal.SIGKILL)
    rows = others_of([Computed(1, "a", 1.0), Computed(2, "b", 4.0), Computed(3, "a", 2.0), Computed(4, "c", 0.01)], 10)
    assert [(row.program, row.pid, row.cores) for row in rows] == [("b", 2, 0.4), ("a", 3, 0.3)]


def test_a_server_that_is_too_slow_in_every_tick_keeps_the_budget_of_its_kind() -> None:
    """Its loop has a period of 100 ms, and ticks of its kind have 50."""
    verdict = judged(seen([[("run", 80 * MS), ("sleep", 20 * MS)]] * 120))
    assert verdict.ticks is not None
    assert (verdict.ticks.budget_ms, verdict.ticks.late) == (50, verdict.ticks.count)
    assert verdict.ticks.per_s == pytest.approx(10, rel=0.01)
    assert verdict.cause is TickCause.CPU


def test_a_server_with_another_period_has_that_budget() -> None:
    """An unknown program ticks every 200 ms. Every third tick takes 350 ms, which would also be a loop of its own."""
    bodies = [[("run", (350 if number % 3 == 0 else 5) * MS)] for number in range(90)]
    machine = Simulated({"game": ticking(*bodies, budget_ns=200 * MS)}, cores=2)
    evidence = replace(machine.evidence(), ticks=None, device=None, extents=None)
    verdict = judged(replace(seen(QUIET), captures=[evidence]), OTHER.with_period(200))
    assert verdict.ticks is not None
    assert (verdict.ticks.are_told, verdict.ticks.budget_ms) == (True, 200)
    assert verdict.ticks.late == pytest.approx(30, abs=1)
    assert (verdict.server, verdict.kind) == ("java (process 12)", "")
    assert SERVER.with_period(25).kind == replace(SERVER.kind, tick_ms=25)  # type: ignore[type-var]


def test_a_loop_that_is_often_late_is_recognised() -> None:
    rng = np.random.default_rng(4)
    verdict = judged(seen([[("run", (100 if rng.random() < 0.3 else 2) * MS)] for _ in range(300)]))
    assert verdict.ticks is not None
    assert verdict.ticks.are_told
    assert verdict.ticks.late > 30
    assert verdict.cause is TickCause.CPU


def test_a_server_that_never_rests_is_said_to_be_busy_all_the_time() -> None:
    verdict = judged(seen([[("run", 60 * MS), ("read", MAP, 0)]] * 300, read_ns=MS))
    assert verdict.ticks is not None
    assert not verdict.ticks.are_told
    assert any("It was busy in 100 % of the time." in line for line in check.screen(verdict))


def test_a_window_that_is_too_short_is_left_out_and_said() -> None:
    look = seen(QUIET)
    short = replace(seen(QUIET[:3]).captures[0], name="window 2")
    verdict = judged(replace(look, captures=[*look.captures, short]))
    assert verdict.ticks is not None
    assert (verdict.ticks.are_told, verdict.lacks) == (True, ("window 2, which shows too little of the thread",))


@pytest.mark.parametrize("edge", ["begin", "end"])
@pytest.mark.parametrize("is_late", [True, False], ids=["late", "idle"])
def test_a_tick_that_the_capture_cuts_is_late_if_the_thread_did_not_sleep(edge: str, is_late: bool) -> None:
    """The capture begins or ends in a tick of three seconds, which computes and reads, or while the thread has nothing to do."""
    long = [("run", 10 * MS), *[("read", MAP, 0), ("run", 5 * MS)] * 60] if is_late else [("run", 5 * MS), ("sleep", 3000 * MS)]
    quiet = QUIET[:80]
    look = seen([*quiet, long, *quiet], read_ns=40 * MS)
    whole = look.captures[0]
    middle_ns = whole.captured_ns[0] + 80 * 50 * MS + 1500 * MS
    span = (whole.captured_ns[0], middle_ns) if edge == "end" else (middle_ns, whole.captured_ns[1])
    waits = whole.waits[(whole.waits["start_ns"] < span[1]) & (whole.waits["start_ns"] >= span[0])]
    waits = waits.assign(end_ns=waits["end_ns"].clip(upper=span[1]))
    verdict = judged(replace(look, captures=[replace(whole, waits=waits.reset_index(drop=True), captured_ns=span)]))
    assert verdict.ticks is not None
    assert verdict.ticks.late == (1 if is_late else 0)
    if is_late:
        assert verdict.cause is TickCause.STORAGE
        assert verdict.late_ms == pytest.approx(1450, abs=60)


def test_a_process_without_a_loop_has_no_ticks_and_no_late_time() -> None:
    rng = np.random.default_rng(3)
    program = [op for length in rng.integers(1, 400, 60) for op in (("run", MS), ("sync", MAP), ("sleep", int(length) * MS))]
    machine = Simulated({"worker": program}, cores=2)
    look = replace(seen(QUIET), captures=[replace(machine.evidence(), ticks=None, device=None, extents=None)])
    verdict = judged(look, OTHER)
    assert verdict.ticks is not None
    assert (verdict.ticks.are_told, verdict.causes, verdict.late_ms, verdict.moments) == (False, (), 0, ())
    lines = check.screen(verdict)
    assert lines[0].startswith("NO TICKS FOUND in java (process 12)")
    assert verdict.waits[0].count in {59, 60, 61}, "a second cuts a sync in two"
    assert any("fdatasync of w/map.sqlite" in line for line in lines)


def test_the_price_is_the_ratio_of_captured_to_free_seconds() -> None:
    rng = np.random.default_rng(2)
    used = {Phase.FREE: 0.1, Phase.CAPTURED: 0.11, Phase.BETWEEN: 9.0}
    made = [Interval(phase, 0.5, float(mean * rng.uniform(0.9, 1.1)), 0.02) for phase, mean in used.items() for _ in range(200)]
    price = check.price_of(made, np.random.default_rng(1))
    assert price is not None
    assert price.low < 1.1 < price.high
    assert (price.high - price.low, price.tool_cores) == (pytest.approx(0.025, abs=0.02), pytest.approx(0.04))
    assert check.price_of(made[:7], np.random.default_rng(1)) is None
    idle = [replace(one, server_s=0.0) for one in made]
    assert check.price_of(idle, np.random.default_rng(1)) is None


def test_a_thread_that_ends_takes_no_processor_time_away() -> None:
    """The child computes in threads that live for a tenth of a second."""
    program = (
        "import threading, time\n"
        "def burn():\n"
        "    until = time.thread_time() + 0.05\n"
        "    while time.thread_time() < until: pass\n"
        "while True:\n"
        "    thread = threading.Thread(target=burn); thread.start(); time.sleep(0.1); thread.join()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as child, check.Meter(child.pid) as meter:
        meter.now(Phase.FREE)
        time.sleep(2.2)
        used = state_of(child.pid)
        child.kill()
    assert used is not None
    counted = [one for one in meter.intervals if one.phase is Phase.FREE]
    assert all(one.server_s >= 0 for one in counted)
    assert sum(one.server_s for one in counted) < used.used / os.sysconf("SC_CLK_TCK") + 0.1


def test_the_screen_has_at_most_24_lines_and_the_record_is_read_again(tmp_path: Path) -> None:
    late = [[("run", 5 * MS)]] * 30 + [[("sync", MAP), ("read", MAP, 0)], [("run", 150 * MS)]]
    look = seen(late * 5, read_ns=40 * MS)
    verdict = judged(replace(look, cut=[f"reason {number}" for number in range(20)]))
    lines = check.screen(verdict)
    assert len(lines) == check.MOST_LINES
    assert lines[-1].startswith("Not shown: ")
    write(tmp_path / "verdict.json", verdict)
    assert read(check.Verdict, tmp_path / "verdict.json") == verdict
    assert verdict.instrument is Instrument.CAPTURE


def blocks(look: Look, device_ms: float) -> trace.BlockRequests:
    """Requests of the disk: the first of each wait for storage, which took so long."""
    waits = look.captures[0].waits
    begin_ns = waits.loc[waits["kind"] == "io", "start_ns"].to_numpy()
    rows = {"op": "flush", "sector": 0, "length": 0, "issued_ns": begin_ns, "completed_ns": begin_ns + round(device_ms * MS)}
    return trace.BlockRequests(pd.DataFrame(rows), unpaired=0, lost=0)


def test_classes_of_disks_are_forecast_from_the_requests_of_the_disk() -> None:
    """A sync waits for 120 ms, in one request of the disk. A tick computes for 10 ms and has 75 ms, so 65 ms would do."""
    late = [[("run", 5 * MS)]] * 30 + [[("run", 5 * MS), ("sync", MAP)]]
    look = seen([*late * 4, *QUIET], read_ns=40 * MS)
    look = replace(
        look, disk=Path("/dev/one"), blocks=[(Path("/dev/one"), blocks(look, 40)), (Path("/dev/two"), blocks(look, 1))]
    )
    classes = {
        f"flush_{ms}": device.DeviceModel(name=f"flush_{ms}", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=ms * MS)
        for ms in (1, 10, 19, 30, 80)
    }
    verdict = check.judge(SERVER, look, np.random.default_rng(1), classes=classes)
    told = [(row.device, row.late, row.would_do) for row in verdict.forecasts]
    assert told == [
        ("flush_80", 4, False),
        ("flush_30", 4, False),
        ("flush_19", 0, True),
        ("flush_10", 0, True),
        ("flush_1", 0, True),
    ]
    line = next(line for line in check.screen(verdict) if "class of disk" in line)
    assert line.startswith("The slowest class of disk that would do is flush_19. Late ticks of ")
    assert line.endswith("by forecast: 4 on flush_30, 0 on flush_19, 0 on flush_10.")
    assert check.judge(SERVER, replace(look, blocks=[]), np.random.default_rng(1), classes=classes).forecasts == ()


def test_the_error_of_forecasts_is_the_difference_of_the_late_parts_of_the_ticks(tmp_path: Path) -> None:
    path = tmp_path / "forecasts.tsv"
    head = "server\tcaptured_on\tforecast_for\tticks\tforecast_late\tmeasured_ticks\tmeasured_late\n"
    path.write_text(f"{head}luanti\ta\tb\t100\t10\t200\t10\nluanti\tb\ta\t50\t0\t200\t2\n")
    error = check.known_error(path, "java")
    assert (error.forecasts, error.mean, error.largest) == (2, pytest.approx(0.03), pytest.approx(0.05))
    kept = check.known_error(Path("data/forecasts.tsv"), "luanti")
    assert kept.forecasts >= 12
    assert kept.mean < kept.largest < 0.1
    path.write_text("server\n")
    with pytest.raises(TickdiskError, match=r"forecasts.tsv does not hold forecasts"):
        check.known_error(path, "")


def test_a_lock_that_another_process_holds_is_named_with_its_holder() -> None:
    """The thread sleeps for 200 ms between two tries to lock a file, as SQLite does, while a backup holds the lock."""
    late = [[("run", 5 * MS)]] * 30 + [[("run", 5 * MS), ("sleep", 200 * MS), ("run", 5 * MS)]]
    look = seen([*late * 4, *QUIET])
    begin_ns = look.captures[0].captured_ns[0]
    held = check.Held("/w/players.sqlite", 77, "backup", begin_ns, begin_ns + 20_000 * MS)
    verdict = judged(replace(look, held=[held]))
    assert verdict.cause is TickCause.SLEEP
    [named] = verdict.held
    assert (named.file, named.pid, named.program, named.ticks) == ("/w/players.sqlite", 77, "backup", verdict.causes[0].ticks)
    assert verdict.advice == (Advice.HELD_FILE,)
    first = check.screen(verdict)[0]
    assert "the biggest cause is a lock on players.sqlite that backup (process 77) holds, and a faster disk would not" in first
    elsewhere = replace(held, begin_ns=0, end_ns=1)
    assert judged(replace(look, held=[elsewhere])).advice == (Advice.OTHERS,)


def test_locks_of_others_are_read_from_the_list_of_the_kernel(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.sqlite", tmp_path / "other.sqlite"
    for path in (mine, other):
        path.touch()
    place = [
        f"{os.major(path.stat().st_dev):02x}:{os.minor(path.stat().st_dev):02x}:{path.stat().st_ino}" for path in (mine, other)
    ]
    listed = tmp_path / "locks"
    rows = [
        f"POSIX  ADVISORY  WRITE {os.getppid()} {place[0]} 1073741824 1073742335",
        f"POSIX  ADVISORY  READ 9 {place[0]} 0 EOF",
        f"POSIX  ADVISORY  WRITE {os.getpid()} {place[0]} 0 EOF",
        f"POSIX  ADVISORY  WRITE 9 {place[1]} 0 EOF",
        f"OFDLCK ADVISORY  WRITE -1 {place[0]} 0 EOF",
    ]
    listed.write_text(
        "".join(f"{number}: {row}\n" for number, row in enumerate(rows, 1)) + f"1: -> POSIX ADVISORY WRITE 8 {place[0]} 0 EOF\n"
    )
    with mine.open("r+"):
        watch = check.LockWatch(os.getpid(), listed)
        watch.look()
        watch.look()
        listed.write_text("")
        watch.look()
    [held] = watch.held
    assert (held.file, held.pid) == (str(mine), os.getppid())
    assert held.end_ns > held.begin_ns


def test_pauses_of_java_are_told_from_the_thread_that_ends_them() -> None:
    def wait(thread: int, name: str, start_ms: int, end_ms: int, waker: str | None) -> tuple[object, ...]:
        return thread, name, start_ms * MS, end_ms * MS, "lock", waker

    rows = [
        wait(1, "Server thread", 100, 300, "VM Thread"),
        wait(2, "Netty #1", 110, 301, "VM Thread"),
        wait(3, "GC Thread#0", 0, 120, "VM Thread"),
        wait(1, "Server thread", 500, 520, "VM Thread"),
        wait(1, "Server thread", 700, 720, "worker"),
    ]
    waits = pd.DataFrame(rows, columns=["thread", "thread_name", "start_ns", "end_ns", "kind", "waker_name"])
    found = check.pauses_of(waits[waits["thread"] != 3])
    assert found.to_dict("split")["data"] == [
        ["a safepoint of Java", 100 * MS, 301 * MS],
        ["a safepoint of Java", 500 * MS, 520 * MS],
    ]
    collected = check.pauses_of(waits.assign(waker_name=waits["waker_name"].where(waits["thread"] != 3)))
    assert collected["name"].tolist() == ["garbage collection", "a safepoint of Java"]
    assert check.pauses_of(waits[:0]).empty


def test_names_are_taken_out_of_what_was_seen_and_the_numbers_stay() -> None:
    late = [[("run", 5 * MS)]] * 30 + [[("run", 5 * MS), ("sync", MAP)]]
    look = seen([*late * 4, *QUIET], read_ns=40 * MS)
    verdict, hidden = judged(look), judged(check.anonymised(look))
    assert "map.sqlite" not in hidden.model_dump_json()
    assert hidden.waits[0].files[0].endswith(".sqlite")
    assert (hidden.late_ms, hidden.causes) == (verdict.late_ms, verdict.causes)


def test_lines_for_telegraf_have_the_numbers_of_the_verdict() -> None:
    late = [[("run", 5 * MS)]] * 30 + [[("run", 5 * MS), ("sync", MAP)]]
    verdict = judged(seen([*late * 4, *QUIET], read_ns=40 * MS))
    lines = check.influx(verdict, 1_700_000_000_000_000_000)
    pattern = re.compile(r"[a-z_]+(,[a-z]+=[a-z0-9_]+)+ [a-z_]+=[0-9.e+-]+i?(,[a-z_]+=[0-9.e+-]+i?)* 1700000000000000000")
    assert all(pattern.fullmatch(line) for line in lines)
    assert "late_ticks=4i," in lines[0]
    assert f"tickdisk_late,server=java,pid=12,cause=storage ticks=4i,late_ms={verdict.causes[0].late_ms} " in lines[1]
    assert len(lines) == 1 + len(TickCause)


def test_what_forbids_a_capture_is_said_with_what_gives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "unavailable", lambda: None)
    monkeypatch.setattr(memory, "free_bytes", lambda: memory.LEAST_BYTES)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text("CapEff:\t0000000000000000\n")
    said = check.obstacle(Machine(root=tmp_path, user=0))
    assert said == "root lacks a right here (BPF); root has lost capabilities here"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()
    said = check.obstacle(Machine(root=tmp_path, user=0))
    assert said == "root lacks a right here (BPF); start the container with --cap-add SYS_ADMIN --cap-add IPC_LOCK"
    monkeypatch.setattr(rights, "RIGHTS", ())
    assert check.obstacle(Machine(root=tmp_path, user=0)) is None
    monkeypatch.setattr(memory, "free_bytes", lambda: memory.LEAST_BYTES - 1)
    assert check.obstacle(Machine(root=tmp_path, user=0)) == f"/dev/shm has no room for a capture; {memory.MORE_MEMORY}"
    monkeypatch.setattr(trace, "unavailable", lambda: "it needs root")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert check.obstacle() == "it needs root; write sudo before the command"
