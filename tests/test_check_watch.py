"""A watch of a running program whose late ticks are known. It reads the kernel's counters alone."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import BIN

from tickdisk import check
from tickdisk.check.record import Minute
from tickdisk.check.rests import Rests
from tickdisk.foundation.errors import TickdiskError

TICKS = """
import sys, time
due, number = time.monotonic(), 0
print("runs", flush=True)
while True:
    number += 1
    until = time.thread_time() + (float(sys.argv[1]) / 1000 if number % 20 == 0 else 0.005)
    while time.thread_time() < until:
        pass
    due = max(due + 0.05, time.monotonic())
    time.sleep(max(0.002, due - time.monotonic()))
"""
"""A server of 50 ms that computes in every twentieth tick."""


@contextmanager
def started(program: str | Path, *words: object) -> Iterator[int]:
    """Runs a program, or the text of one in Python, from the time at which it says that it runs."""
    first = [program] if isinstance(program, Path) else [sys.executable, "-c", program]
    with subprocess.Popen([*first, *map(str, words)], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "runs\n"
            yield running.pid
        finally:
            running.kill()


def test_a_minute_ends_when_ticks_got_late_three_times() -> None:
    with started(TICKS, 300) as pid:
        minute = next(check.minutes(check.server_of(pid), 60))
    assert minute.late == check.LEAST_LATE
    assert minute.seconds < 30
    assert 200 < minute.longest_ms < 2000
    assert 0.1 < minute.cores <= 1.1
    assert minute.waiting_share < 0.5


def test_a_server_that_has_ended_is_watched_no_more() -> None:
    with started(TICKS, 0) as pid:
        found = check.server_of(pid)
    with pytest.raises(TickdiskError, match="does not run"):
        next(check.minutes(found, 60))


def test_times_without_a_rest_are_told_from_states_and_switches() -> None:
    """A thread computes for 100 ms, rests, and waits for a disk for 100 ms."""
    rests = Rests(75)
    looks = [
        ("S", 1),
        *[("R", 2)] * 6,
        ("S", 3),
        ("R", 4),
        ("S", 5),
        *[("D", 6)] * 3,
        *[("D", 7)] * 3,
        ("S", 8),
        ("R", 9),
        ("R", 10),
    ]
    for number, (state, switches) in enumerate(looks):
        rests.look(number * 0.02, state, switches)
    rests.end(len(looks) * 0.02)
    assert len(rests.late_ms) == 2
    assert rests.stored == 6
    assert rests.longest_ms == pytest.approx(140, abs=21)


def test_a_watch_writes_a_line_for_each_minute(tmp_path: Path) -> None:
    with started(TICKS, 0) as pid:
        words = ["--pid", str(pid), "-o", str(tmp_path / "seen"), "--hours", "0.001", "--checks-per-day", "0"]
        done = subprocess.run([BIN / "tickdisk", "watch", *words], capture_output=True, text=True, check=True, timeout=120)
    [line] = (tmp_path / "seen/minutes.jsonl").read_text().splitlines()
    assert Minute.model_validate_json(line).seconds == pytest.approx(3.6, abs=1)
    assert done.stdout.splitlines()[-1].endswith("; 0 checks are kept")


def test_ctrl_c_ends_a_watch_and_keeps_what_was_seen(tmp_path: Path) -> None:
    with started(TICKS, 0) as pid:
        words = [BIN / "tickdisk", "watch", "--pid", str(pid), "-o", str(tmp_path / "seen"), "--checks-per-day", "0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            while "is watched for" not in running.stdout.readline():
                pass
            time.sleep(1.5)
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert said.endswith(" times; 0 checks are kept\n")
    assert len((tmp_path / "seen/minutes.jsonl").read_text().splitlines()) == 1
