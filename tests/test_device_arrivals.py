"""Requests arrive when the kernel issues them, not when the emulator comes to take them."""

import mmap
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import for_release

from tickdisk import device, trace
from tickdisk.device import DeviceModel
from tickdisk.foundation import process
from tickdisk.foundation.tracefs import tracepoint, with_tracefs

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(trace.unavailable() is not None, reason="the kernel tells us nothing of requests here"),
]
SIZE = 64 << 20
LATENCY_NS, AWAY_S = 300_000_000, 0.2
SLACK_NS = 100_000_000
MODEL = DeviceModel(name="slow", read_latency_ns=LATENCY_NS, write_latency_ns=LATENCY_NS, flush_latency_ns=LATENCY_NS)


@pytest.mark.parametrize("name", ["issue", "complete"])
def test_the_kernel_describes_the_tracepoints(name: str) -> None:
    point = tracepoint(f"block/block_rq_{name}")
    assert point.number > 0
    sizes = {name: size for name, (_, size) in point.fields.items()}
    assert (sizes["dev"], sizes["sector"], sizes["nr_sector"]) == (4, 8, 4)


@pytest.mark.parametrize("length", [4096, 4 << 20])
def test_what_waits_for_the_emulator_is_not_late_for_it(tmp_path: Path, length: int) -> None:
    log = tmp_path / "device.log"
    with device.up(MODEL, size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk:
        descriptor = os.open(disk.block_device, os.O_RDONLY | os.O_DIRECT)
        with mmap.mmap(-1, 2 * length, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory, ThreadPoolExecutor(1) as reader:
            # In pages that lie one after the other requests are larger than what FUSE takes at once.
            memory.madvise(mmap.MADV_HUGEPAGE)
            memory[:] = bytes(len(memory))
            buffer = memoryview(memory)[:length]
            setting = disk.set(MODEL, floor_ns=0).number
            before = disk.status().stamped
            os.kill(disk.daemon_pid, signal.SIGSTOP)
            begin_ns = time.monotonic_ns()
            reading = reader.submit(os.preadv, descriptor, [buffer], 8 << 20)
            time.sleep(AWAY_S)
            os.kill(disk.daemon_pid, signal.SIGCONT)
            assert reading.result() == length
            took_ns = time.monotonic_ns() - begin_ns
            buffer.release()
        os.close(descriptor)
        assert disk.status().stamped > before
        assert disk.status().arrivals_lack == ""
    rows = device.read_log(log).to_pandas()
    rows = rows[rows["setting"] == setting]
    assert rows["length"].sum() == length
    if rows["length"].max() < min(length, 1 << 20):
        pytest.skip("no huge pages are free: requests are smaller than what FUSE takes at once, and none came in parts")
    late_ns = rows["arrival_ns"] - begin_ns
    # The parts of one large request have one time between them.
    assert late_ns.between(0, SLACK_NS).all(), late_ns.tolist()
    assert (rows["nominal_ns"] - rows["arrival_ns"] == LATENCY_NS).all()
    assert LATENCY_NS <= took_ns < LATENCY_NS + SLACK_NS, "it waited while it was not taken"


def test_a_flush_that_waits_for_the_emulator_is_not_late_for_it(tmp_path: Path) -> None:
    log = tmp_path / "device.log"
    with device.up(MODEL, size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk:
        descriptor = os.open(disk.block_device, os.O_RDWR | os.O_DIRECT)
        with ThreadPoolExecutor(1) as flusher:
            setting = disk.set(MODEL, floor_ns=0).number
            os.kill(disk.daemon_pid, signal.SIGSTOP)
            begin_ns = time.monotonic_ns()
            flushing = flusher.submit(os.fsync, descriptor)
            time.sleep(AWAY_S)
            os.kill(disk.daemon_pid, signal.SIGCONT)
            flushing.result()
        os.close(descriptor)
    rows = device.read_log(log).to_pandas()
    (arrival_ns,) = rows.loc[(rows["setting"] == setting) & (rows["op"] == "flush"), "arrival_ns"]
    assert 0 <= arrival_ns - begin_ns < SLACK_NS


@for_release
def test_others_who_look_at_the_tracepoint_still_see_it(tmp_path: Path) -> None:
    """A program that returns 0 hides the event from everybody else."""
    script = "tracepoint:block:block_rq_issue /args->nr_sector == 24/ { @seen = count(); } interval:s:5 { exit(); }"
    with device.up(MODEL.unlimited(), size_bytes=SIZE, file_system=None, floor_ns=0) as disk:
        command = with_tracefs('exec bpftrace -e "$1" >"$2"', script, tmp_path / "seen")
        looker = process.Child("bpftrace", command, tmp_path)
        descriptor = os.open(disk.block_device, os.O_RDONLY | os.O_DIRECT)
        with mmap.mmap(-1, 24 * 512) as buffer:
            while looker.poll() is None:
                os.preadv(descriptor, [buffer], 0)
                time.sleep(0.05)
        os.close(descriptor)
    assert "@seen: " in (tmp_path / "seen").read_text(encoding="ascii")
