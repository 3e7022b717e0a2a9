"""`tickdisk check` beside running programs whose truth is known; needs root and bpftrace."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BIN, for_release
from test_check_watch import started

from tickdisk import check, device, trace
from tickdisk.foundation import memory
from tickdisk.server.luanti import install as luanti
from tickdisk.trace.cgroup import cgroup_of

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(trace.unavailable() is not None, reason=f"bpftrace cannot capture here: {trace.unavailable()}"),
]
LIMIT_S = 120
GOROUTINE = Path(__file__).parent / "goroutine"
SERVER = """
import ctypes, os, sys, threading, time
folder, files, burn_ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def tick():
    ctypes.CDLL(None).prctl(15, b"Server thread", 0, 0, 0)
    due, number = time.monotonic(), 0
    print("runs", flush=True)
    while True:
        number += 1
        if number % 60 == 0:
            until = time.monotonic() + burn_ms / 1000
            while time.monotonic() < until:
                pass
            for name in range(files):
                with open(f"{folder}/r.{name}.mca", "wb") as file:
                    file.write(bytes(5000))
                    file.flush()
                    os.fsync(file.fileno())
        due = max(due + 0.05, time.monotonic())
        time.sleep(max(0, due - time.monotonic()))

thread = threading.Thread(target=tick)
thread.start()
thread.join()
"""
"""A server of 50 ms that saves or computes in every sixtieth tick."""


BURN = """
local step = 0
minetest.register_globalstep(function()
  step = step + 1
  if step % 40 == 0 then
    local ends_us = minetest.get_us_time() + 250000
    while minetest.get_us_time() < ends_us do end
  end
end)
"""


def server(folder: Path, *, files: int = 0, burn_ms: int = 0) -> AbstractContextManager[int]:
    return started(SERVER, folder, files, burn_ms)


def checked(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([BIN / "tickdisk", "check", *words], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def verdict(pid: int, folder: Path, seconds: int = 20) -> tuple[list[str], dict[str, Any]]:
    place = folder / "verdict.json"
    done = checked("--pid", str(pid), "--seconds", str(seconds), "--json", place)
    return done.stdout.splitlines(), json.loads(place.read_text())


STALLS = device.Stalls(every_bytes=100_000, length_ns=500_000_000)


@pytest.mark.parametrize(
    ("flush_ms", "stalls"), [(10, None), pytest.param(1, STALLS, marks=for_release)], ids=["slow flushes", "stalls of 500 ms"]
)
def test_saves_on_a_slow_disk_are_named_with_thread_files_and_sum(
    flush_ms: int, stalls: device.Stalls | None, tmp_path: Path
) -> None:
    """Each of 27 files is synced. The journal needs another flush. A save writes over 100 kB, so it meets a stall or several."""
    flush_ns = flush_ms * 1_000_000
    slow = device.DeviceModel(name="slow", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=flush_ns, stalls=stalls)
    with device.up(slow, size_bytes=64 << 20, floor_ns=0, logs=tmp_path) as disk, server(disk.mount_point, files=27) as pid:
        lines, found = verdict(pid, tmp_path)
        home = cgroup_of(pid)
    assert lines[0].startswith("LAG: ")
    assert "the biggest cause is the disk" in lines[0]
    assert len(lines) <= 24
    first = found["waits"][0]
    assert (first["thread"], first["op"], len(first["files"])) == ("Server thread", "sync", 27)
    saves = first["count"] / 27
    if stalls is None:
        # A capture that begins or ends in a save sees a part of it, and says that this tick is late.
        assert 2 <= saves <= found["ticks"]["late"]
    assert 27 * flush_ms * saves <= first["total_ms"] <= found["late_ms"] + 75 * (saves + 1)
    assert first["total_ms"] >= (500 if stalls else 0)
    assert found["storage_late_ms"] > 0.7 * found["late_ms"]
    assert found["price"]["captured_s"] > found["price"]["free_s"] > 3
    assert not home.name.startswith("tickdisk-"), "the server is where it was before"


def test_computing_is_not_blamed_on_the_disk_and_a_check_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    with server(tmp_path, burn_ms=200) as pid:
        home = cgroup_of(pid)
        running = subprocess.Popen(
            [BIN / "tickdisk", "check", "--pid", str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(lambda: cgroup_of(pid) != home)
        group = cgroup_of(pid)
        second = checked("--pid", str(pid), "--seconds", "5", code=2)
        assert second.stderr.splitlines()[-1] == (
            f"tickdisk: process {pid} is being captured already; wait until that capture has ended"
        )
        running.send_signal(signal.SIGKILL)
        running.wait()
        wait_until(lambda: not group.exists() and not captures())
        assert cgroup_of(pid) == home
        lines, found = verdict(pid, tmp_path, 9)
    assert "the biggest cause is computing, and a faster disk would not help" in lines[0]
    assert found["causes"][0]["cause"] == "cpu"
    assert found["price"] is None, "so short a check has no pauses"


def test_a_goroutine_that_moves_between_threads_is_explained(tmp_path: Path) -> None:
    """It computes for 150 ms in one tick of forty, and in another one needs a lock behind which a file is synced for 100 ms."""
    program = tmp_path / "dragonfly"
    (tmp_path / "stripped").mkdir()
    path = f"{Path('build/path').read_text().strip()}:{os.environ['PATH']}"
    build = ["go", "build", "-o", program, "."]
    subprocess.run(build, cwd=GOROUTINE, env={**os.environ, "PATH": path}, check=True, capture_output=True, timeout=LIMIT_S)
    slow = device.DeviceModel(name="slow", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=50_000_000)
    with device.up(slow, size_bytes=64 << 20, floor_ns=0, logs=tmp_path) as disk, started(program, disk.mount_point) as pid:
        lines, found = verdict(pid, tmp_path, 12)
    assert found["thread"] == "world goroutine"
    assert trace.has_symbols(program)
    subprocess.run([*build[:2], "-ldflags=-s", *build[2:]], cwd=GOROUTINE, env={**os.environ, "PATH": path}, check=True)
    assert not trace.has_symbols(program)
    with started(program, tmp_path) as pid:
        lines, stripped = verdict(pid, tmp_path / "stripped", 3)
    assert lines[0].startswith("NO TICKS FOUND ")
    assert any("`go build` makes one, and `go run` does not" in lack for lack in stripped["lacks"])
    turns = found["seconds"] / (40 * 0.05 + 0.2)
    causes = {late["cause"]: late for late in found["causes"]}
    computing = sum(causes[name]["ticks"] for name in ("cpu", "run_queue") if name in causes)
    assert computing == pytest.approx(turns, abs=2.5)
    assert causes["storage"]["ticks"] == pytest.approx(turns, abs=2.5)
    assert found["ticks"]["late"] <= computing + causes["storage"]["ticks"] + 1
    first = found["waits"][0]
    assert (first["call"], first["files"], first["holds_lock"]) == ("fsync", ["saved.ldb"], True), lines
    assert causes["storage"]["late_ms"] == pytest.approx(found["storage_late_ms"], rel=0.2)


@for_release
def test_luanti_that_computes_is_not_blamed_on_the_disk(tmp_path: Path) -> None:
    """Its map lies in memory (the back end `dummy`), and a mod computes for 250 ms in every fortieth step."""
    world, settings = tmp_path / "world", tmp_path / "minetest.conf"
    mod = world / "worldmods/burn"
    mod.mkdir(parents=True)
    (world / "world.mt").write_text("gameid = minetest\nbackend = dummy\nplayer_backend = dummy\nauth_backend = sqlite3\n")
    (mod / "mod.conf").write_text("name = burn\n")
    (mod / "init.lua").write_text(BURN)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings.write_text(f"bind_address = 127.0.0.1\nport = {port}\nserver_announce = false\n")
    words = [luanti.installed()["binary"], "--world", world, "--config", settings, "--logfile", tmp_path / "log"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            wait_until(lambda: "listening on" in ((tmp_path / "log").read_text() if (tmp_path / "log").exists() else ""))
            lines, found = verdict(running.pid, tmp_path)
        finally:
            running.terminate()
    assert (found["kind"], found["thread"]) == ("luanti", "Server")
    assert "and a faster disk would not help" in lines[0]
    assert found["causes"][0]["cause"] in ("cpu", "run_queue")
    assert found["ticks"]["late"] == pytest.approx(found["seconds"] / (40 * 0.09 + 0.16), abs=2.5)


@for_release
def test_a_server_that_ends_is_told_for_as_long_as_it_ran(tmp_path: Path) -> None:
    with server(tmp_path, burn_ms=200) as pid:
        words = [BIN / "tickdisk", "check", "--pid", str(pid), "--seconds", "19"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            home = cgroup_of(pid)
            wait_until(lambda: cgroup_of(pid) != home)
            time.sleep(7)
            os.kill(pid, signal.SIGKILL)
            said, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 0
    assert f"Not seen: process {pid} ended" in said.splitlines()


@for_release
def test_ctrl_c_ends_a_check_and_keeps_what_was_seen(tmp_path: Path) -> None:
    with server(tmp_path, burn_ms=200) as pid:
        home = cgroup_of(pid)
        words = [BIN / "tickdisk", "check", "--pid", str(pid), "--seconds", "40"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            wait_until(lambda: cgroup_of(pid) != home)
            time.sleep(12)
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 0
    assert said.startswith("LAG: ")
    assert "Not seen: the rest of the check, which Ctrl-C ended" in said.splitlines()


def test_without_bpftrace_the_counters_of_the_kernel_are_told(tmp_path: Path) -> None:
    with server(tmp_path, burn_ms=200) as pid:
        words = [BIN / "tickdisk", "check", "--pid", str(pid), "--seconds", "3"]
        own = {**os.environ, "PATH": str(BIN)}
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT_S, env=own)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("NOT CAPTURED: ")
    told = re.escape(f"(process {pid}); the thread Server thread waited for the disk in ")
    assert re.search(rf"{told}\d[\d.]* % of \d s\.$", lines[0])
    assert lines[-1] == (
        "Not seen: the reasons of lag, because bpftrace cannot capture: bpftrace is not installed; "
        "`apt install bpftrace` installs it"
    )


def test_a_thread_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    with server(tmp_path) as pid:
        words = [BIN / "tickdisk", "check", "--pid", str(pid), "--seconds", "3", "--thread", "nobody"]
        own = {**os.environ, "PATH": str(BIN)}
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S, env=own)
    assert done.returncode == 2
    assert "has no thread nobody (threads: " in done.stderr.splitlines()[-1]


def test_a_process_that_does_not_run_is_one_sentence() -> None:
    done = checked("--pid", "4194303", code=2)
    assert done.stderr.count("\n") == 1
    assert "process 4194303 does not run" in done.stderr


def wait_until(true: Any) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def captures() -> list[str]:
    """Returns the processes of bpftrace that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # It has ended.
            found += [path.parent.name] if path.read_text(errors="replace").strip() == "bpftrace" else []
    return found


DATABASE = """
import ctypes, sqlite3, sys, threading, time

def tick():
    ctypes.CDLL(None).prctl(15, b"Server thread", 0, 0, 0)
    base = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
    base.execute("create table if not exists players (name text)")
    due, number = time.monotonic(), 0
    print("runs", flush=True)
    while True:
        number += 1
        if number % 20 == 0:
            base.execute("insert into players values ('one')")
        due = max(due + 0.05, time.monotonic())
        time.sleep(max(0, due - time.monotonic()))

thread = threading.Thread(target=tick)
thread.start()
thread.join()
"""
"""A server of 50 ms that writes to a database once a second."""
BACKUP = """
import sqlite3, sys, time
base = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
while True:
    base.execute("begin exclusive")
    time.sleep(1.2)
    base.execute("commit")
    time.sleep(1.3)
"""


def test_another_process_that_holds_the_lock_of_a_database_is_named(tmp_path: Path) -> None:
    place = tmp_path / "players.sqlite"
    with started(DATABASE, place) as pid, subprocess.Popen([sys.executable, "-c", BACKUP, str(place)]) as backup:
        try:
            lines, found = verdict(pid, tmp_path, 12)
        finally:
            backup.kill()
    assert "the biggest cause is a lock on players.sqlite that python" in lines[0]
    assert f"(process {backup.pid}) holds, and a faster disk would not help" in lines[0]
    assert (found["held"][0]["file"], found["held"][0]["pid"]) == (str(place), backup.pid)
    assert found["advice"][0] == "held_file"
    assert found["causes"][0]["cause"] != "storage"


COLLECTED = """
import java.util.ArrayList;
import java.util.concurrent.locks.LockSupport;

public class Collected {
    static volatile Object kept;

    public static void main(String[] words) throws Exception {
        var live = new ArrayList<Object[]>();
        for (int i = 0; i < 3_000_000; i++) live.add(new Object[] {new Object(), null});
        kept = live;
        var thread = new Thread(() -> {
            System.out.println("runs");
            long due = System.nanoTime();
            while (true) {
                due = Math.max(due + 50_000_000, System.nanoTime());
                LockSupport.parkNanos(Math.max(1, due - System.nanoTime()));
                long until = System.nanoTime() + 2_000_000;
                while (System.nanoTime() < until) { }
            }
        }, "Server thread");
        thread.start();
        while (true) {
            Thread.sleep(1500);
            System.gc();
        }
    }
}
"""
"""A server of 50 ms in Java, which collects its garbage every 1.5 s while all threads stand still."""


@for_release
def test_pauses_of_javas_collector_are_named(tmp_path: Path) -> None:
    program = tmp_path / "Collected.java"
    program.write_text(COLLECTED)
    words = ["java", "-XX:+UseSerialGC", "-Xms600m", "-Xmx600m", str(program)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "runs\n"
            time.sleep(1)
            lines, found = verdict(running.pid, tmp_path, 15)
        finally:
            running.kill()
    assert "the biggest cause is pauses of the runtime, and a faster disk would not help" in lines[0]
    assert (found["causes"][0]["cause"], found["advice"][0]) == ("pause", "garbage")


def test_a_check_that_is_killed_leaves_nothing_in_memory(tmp_path: Path) -> None:
    before = set(memory.MEMORY.glob("tickdisk-*"))
    with server(tmp_path, burn_ms=200) as pid:
        home = cgroup_of(pid)
        running = subprocess.Popen(
            [BIN / "tickdisk", "check", "--pid", str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(lambda: cgroup_of(pid) != home)
        running.send_signal(signal.SIGKILL)
        running.wait()
        wait_until(lambda: not captures() and set(memory.MEMORY.glob("tickdisk-*")) <= before)


@for_release
def test_a_forecast_for_another_disk_is_what_is_seen_there(tmp_path: Path) -> None:
    """Three files are synced on a device with flushes of 30 ms, and then on one that the forecast was made for."""
    classes = {
        name: device.DeviceModel(name=name, read_latency_ns=0, write_latency_ns=0, flush_latency_ns=ms * 1_000_000)
        for name, ms in (("slow", 30), ("quick", 2))
    }
    late = {}
    for name, model in classes.items():
        with device.up(model, size_bytes=64 << 20, floor_ns=0, logs=tmp_path) as disk, server(disk.mount_point, files=3) as pid:
            with memory.folder() as logs:
                seen = check.look(check.server_of(pid), 40, logs, lambda _: None)
            late[name] = check.judge(check.server_of(pid), seen, np.random.default_rng(1), classes=classes)
    told = {row.device: row for row in late["slow"].forecasts}
    ticks = {name: own.ticks for name, own in late.items()}
    assert ticks["slow"] is not None
    assert ticks["quick"] is not None
    assert ticks["slow"].late >= 4
    assert (told["slow"].late, told["slow"].would_do) == (pytest.approx(ticks["slow"].late, abs=1), False)
    assert told["quick"].late - told["quick"].late_without == 0
    assert told["quick"].would_do
    assert ticks["quick"].late <= 1
    assert late["slow"].disk is not None


@for_release
def test_a_watched_server_is_checked_when_its_ticks_get_late(tmp_path: Path) -> None:
    with server(tmp_path, burn_ms=200) as pid:
        words = ["--pid", str(pid), "-o", str(tmp_path / "seen"), "--hours", "0.02", "--checks-per-day", "1"]
        done = subprocess.run([BIN / "tickdisk", "watch", *words], capture_output=True, text=True, check=True, timeout=LIMIT_S)
    [kept] = (tmp_path / "seen").glob("check-*.json")
    found = json.loads(kept.read_text())
    assert (found["pid"], found["causes"][0]["cause"]) == (pid, "cpu")
    assert any("  LAG: " in line for line in done.stdout.splitlines())
    assert done.stdout.splitlines()[-1].endswith("; 1 check is kept")
