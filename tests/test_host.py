"""What the testbed's own processes use is told from what strangers use, however busy the machine is with something else."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tickdisk.foundation import host
from tickdisk.foundation.cores import Cores
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import OWNER_VARIABLE, ProcessIdentity, state_of
from tickdisk.trace.snapshot import snapshot

ENOUGH_S = 1.0
"""CPU time that a process is let have, however long it waits for it."""
NEAR_S = 0.3
"""The kernel counts a core's time by looks, a process's by its switches."""
SPIN = "while True: pass"
SPIN_AND_END = "import time\nwhile time.process_time() < 0.8: pass"
WAIT_FOR_ANOTHER = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SPIN_AND_END!r}], check=True)"
BECOME_A_STRANGER = f"""
import os
if os.fork():
    os._exit(0)
os.setsid()
os.write(1, str(os.getpid()).encode())
os.close(1)
{SPIN}
"""


@pytest.fixture(autouse=True)
def _nobody_owns_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OWNER_VARIABLE, raising=False)


needs_kernel_threads = pytest.mark.skipif(
    host.LoadMeter(programs=True).read().other_programs_share is None, reason="a pid namespace hides the threads of the kernel"
)


@contextmanager
def stranger() -> Iterator[int]:
    """A process that keeps a core busy and is nobody's child: its parent has ended, and init has taken it over."""
    parent = subprocess.Popen([sys.executable, "-c", BECOME_A_STRANGER], stdout=subprocess.PIPE, text=True)
    pid = int(parent.communicate(timeout=10)[0])
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)


def seconds(load: host.MachineLoad) -> tuple[float, float]:
    """CPU time of everybody, and of other programs."""
    assert load.other_programs_share is not None
    cores_s = load.seconds * (os.cpu_count() or 1)
    return load.busy_share * cores_s, load.other_programs_share * cores_s


def used_s(pid: int) -> float:
    """CPU time of a process that still runs."""
    used = host.cpu_ns(pid)
    assert used is not None
    return used / 1e9


def wait_until_it_used_enough(pid: int) -> float:
    """Returns the CPU time of a process when it has had ENOUGH_S more than now."""
    deadline, enough_s = time.monotonic() + 30, used_s(pid) + ENOUGH_S
    while used_s(pid) < enough_s:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return used_s(pid)


@needs_kernel_threads
def test_a_child_is_no_other_program() -> None:
    child = subprocess.Popen([sys.executable, "-c", SPIN])
    try:
        meter, before_s = host.LoadMeter(programs=True), used_s(child.pid)
        child_s, load = wait_until_it_used_enough(child.pid) - before_s, meter.read()
    finally:
        child.kill()
        child.wait(10)
    busy_s, others_s = seconds(load)
    assert others_s < busy_s - child_s + NEAR_S


@needs_kernel_threads
def test_what_has_ended_and_was_waited_for_is_no_other_program() -> None:
    meter, before = host.LoadMeter(programs=True), os.times()
    subprocess.run([sys.executable, "-c", WAIT_FOR_ANOTHER], check=True, timeout=60)
    load, after = meter.read(), os.times()
    children_s = after.children_user + after.children_system - before.children_user - before.children_system
    busy_s, others_s = seconds(load)
    assert children_s > 2 * NEAR_S
    assert others_s < busy_s - children_s + NEAR_S


def test_the_time_of_children_is_counted_while_they_run_and_after_their_end() -> None:
    with subprocess.Popen([sys.executable, "-c", f"{WAIT_FOR_ANOTHER}\nprint('ended', flush=True)\ninput()"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:  # fmt: skip
        assert parent.stdout is not None
        running, deadline = 0, time.monotonic() + 30
        while running < 0.4e9:
            running = host.cpu_ns_with_children(parent.pid) or 0
            assert time.monotonic() < deadline
        assert used_s(parent.pid) < 0.4, "most of the time is that of the child"
        assert parent.stdout.readline() == "ended\n"
        ended, own_s = host.cpu_ns_with_children(parent.pid), used_s(parent.pid)
        parent.communicate("\n")
    assert ended is not None
    assert 0.75 < ended / 1e9 - own_s < 0.8 + 2 * NEAR_S
    assert host.cpu_ns_with_children(parent.pid) is None


@needs_kernel_threads
def test_a_stranger_is_another_program() -> None:
    with stranger() as pid:
        meter, before_s = host.LoadMeter(programs=True), used_s(pid)
        stranger_s, load = wait_until_it_used_enough(pid) - before_s, meter.read()
    assert seconds(load)[1] > stranger_s - NEAR_S


@needs_kernel_threads
def test_the_workflow_that_started_us_is_no_other_program(monkeypatch: pytest.MonkeyPatch) -> None:
    with stranger() as pid:
        monkeypatch.setenv(OWNER_VARIABLE, str(pid))
        meter, before_s = host.LoadMeter(programs=True), used_s(pid)
        workflow_s, load = wait_until_it_used_enough(pid) - before_s, meter.read()
    busy_s, others_s = seconds(load)
    assert others_s < busy_s - workflow_s + NEAR_S


def test_the_name_of_a_program_need_not_be_text(tmp_path: Path) -> None:
    program = tmp_path / os.fsdecode(b"named ) \xff")
    shutil.copy(shutil.which("sleep") or "sleep", program)
    with subprocess.Popen([program, "60"]) as child:
        try:
            deadline = time.monotonic() + 10
            while b"\xff" not in Path(f"/proc/{child.pid}/comm").read_bytes():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            found = state_of(child.pid)
            assert found is not None
            assert (found.parent, found.has_ended) == (os.getpid(), False)
            assert host.cpu_ns(child.pid) is not None
            assert host.thread_named(child.pid, "other") is None
            assert host.thread_named(child.pid, program.name) == child.pid
            assert ProcessIdentity.of(child.pid) == ProcessIdentity(pid=child.pid, started=found.started)
            assert snapshot(child.pid)["started"] == found.started
            assert host.LoadMeter(programs=True).read().seconds >= 0
        finally:
            child.kill()
        while (ended := state_of(child.pid)) is not None and not ended.has_ended:
            assert time.monotonic() < deadline
        assert ProcessIdentity.of(child.pid) is None
    assert state_of(child.pid) is None


def test_who_does_not_ask_is_not_told() -> None:
    assert host.LoadMeter().read().other_programs_share is None


def test_where_the_threads_of_the_kernel_are_hidden_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_KTHREADD", os.getpid())
    assert host.LoadMeter(programs=True).read().other_programs_share is None


@pytest.mark.parametrize(
    ("usable", "expected"),
    [
        ({3}, ((3,), (3,), (3,))),
        ({0, 1}, ((0,), (1,), (1,))),
        ({0, 1, 2}, ((0,), (1,), (2,))),
        (set(range(9)), ((0, 1, 2, 3), (4, 5, 6), (7, 8))),
    ],
)
def test_with_more_than_two_cores_nobody_shares_one(
    usable: set[int], expected: tuple[tuple[int, ...], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: usable)
    cores = host.split_cores()
    assert (cores.server, cores.clients, cores.emulator) == expected
    assert {*cores.server, *cores.others} == usable


def test_the_configuration_chooses_the_cores_among_those_that_are_there() -> None:
    one = min(os.sched_getaffinity(0))
    chosen = Cores(server=(one,), clients=(one,), emulator=(one,))
    found = host.split_cores()
    try:
        host.choose_cores(chosen)
        assert host.split_cores() == chosen
        with pytest.raises(TickdiskError, match="the configuration names core 9999 under cores, and there are "):
            host.choose_cores(chosen.model_copy(update={"clients": (9999,)}))
        assert host.split_cores() == chosen
    finally:
        host.choose_cores(None)
    assert host.split_cores() == found
