"""Requests arrive when the kernel issues them, not when the emulator comes to take them."""

import mmap
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tickdisk import device, trace
from tickdisk.device import DeviceModel
from tickdisk.tracefs import tracepoint

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(trace.unavailable() is not None, reason="the kernel tells us nothing of requests here"),
]
SIZE = 64 << 20
LATENCY_NS, AWAY_S = 300_000_000, 0.2
SLACK_NS = 100_000_000
MODEL = DeviceModel(name="slow", read_latency_ns=LATENCY_NS, write_latency_ns=LATENCY_NS, flush_latency_ns=LATENCY_NS)


def test_the_kernel_describes_the_tracepoint() -> None:
    point = tracepoint("block/block_rq_issue")
    assert point.number > 0
    assert {name: size for name, (_, size) in point.offsets.items() if name in ("dev", "sector")} == {"dev": 4, "sector": 8}


@pytest.mark.parametrize("length", [4096, 4 << 20])
def test_what_waits_for_the_emulator_is_not_late_for_it(tmp_path: Path, length: int) -> None:
    log = tmp_path / "device.log"
    with device.up(MODEL, size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk:
        descriptor = os.open(disk.block_device, os.O_RDONLY | os.O_DIRECT)
        with mmap.mmap(-1, length) as buffer, ThreadPoolExecutor(1) as reader:
            setting = disk.set(MODEL, floor_ns=0).number
            before = disk.status()["stamped"]
            os.kill(disk.daemon_pid, signal.SIGSTOP)
            begin_ns = time.monotonic_ns()
            reading = reader.submit(os.preadv, descriptor, [buffer], 8 << 20)
            time.sleep(AWAY_S)
            os.kill(disk.daemon_pid, signal.SIGCONT)
            assert reading.result() == length
            took_ns = time.monotonic_ns() - begin_ns
        os.close(descriptor)
        assert disk.status()["stamped"] > before
    rows = device.read_log(log).to_pandas()
    rows = rows[rows["setting"] == setting]
    assert rows["length"].sum() == length
    late_ns = rows["arrival_ns"] - begin_ns
    # The parts of one large request have one time between them.
    assert late_ns.between(0, SLACK_NS).all(), late_ns.tolist()
    assert (rows["nominal_ns"] - rows["arrival_ns"] == LATENCY_NS).all()
    assert LATENCY_NS <= took_ns < LATENCY_NS + SLACK_NS, "it waited while it was not taken"


def test_a_setting_is_for_what_is_taken_after_it(tmp_path: Path) -> None:
    log = tmp_path / "device.log"
    with device.up(MODEL, size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk:
        descriptor = os.open(disk.block_device, os.O_RDONLY | os.O_DIRECT)
        with mmap.mmap(-1, 4096) as buffer, ThreadPoolExecutor(1) as reader:
            setting = disk.set(MODEL, floor_ns=0)
            reader.submit(os.preadv, descriptor, [buffer], 0).result()
        os.close(descriptor)
    rows = device.read_log(log).to_pandas()
    assert (rows.loc[rows["setting"] == setting.number, "arrival_ns"] >= setting.effective_ns).all()
