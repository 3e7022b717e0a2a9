"""Traces of one emulated device that three tools write at the same time: all readers find what fio says that it did."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tickdisk import device, formats, trace
from tickdisk.foundation import memory
from tickdisk.pools import tpcc

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(trace.unavailable() is not None, reason=f"bpftrace cannot capture here: {trace.unavailable()}"),
]
TRACEFS = Path("/sys/kernel/tracing")
MODEL = device.DeviceModel(name="m", read_latency_ns=300_000, write_latency_ns=300_000, flush_latency_ns=300_000)
FIO = "--name=x --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=4 --size=64m --io_size=4m --fsync=16"


def tracer_is_free() -> bool:
    try:
        return (TRACEFS / "current_tracer").read_text() == "nop\n" and "blk" in (
            TRACEFS / "available_tracers"
        ).read_text().split()
    except OSError:
        return False


@contextmanager
def kernels_tracer(disk: Path, output: Path) -> Iterator[None]:
    """Lets the kernel's tracer `blk` write what blktrace records, if nobody uses it."""
    if not tracer_is_free():
        yield
        return
    changes = {
        TRACEFS / "current_tracer": ("blk", "nop"),
        TRACEFS / "options/blk_classic": ("1", "0"),
        Path(f"/sys/block/{disk.name}/trace/enable"): ("1", "0"),
    }
    try:
        for path, (on, _) in changes.items():
            path.write_text(on)
        (TRACEFS / "trace").write_text("")
        yield
        output.write_bytes((TRACEFS / "trace").read_bytes())
    finally:
        for path, (_, off) in reversed(changes.items()):
            path.write_text(off)
        (TRACEFS / "trace").write_text("")


def placed(requests: pd.DataFrame) -> list[tuple[str, int, int]]:
    moves = requests[requests["op"].isin(["read", "write"])]
    return sorted(zip(moves["op"], moves["offset"], moves["length"], strict=True))


def test_readers_of_requests_to_a_device_agree_with_its_log_and_with_fio(tmp_path: Path) -> None:
    kernel, notes = tmp_path / "blk.txt", tmp_path / "biosnoop.zst"
    with memory.folder() as fast:
        log = fast / "log"
        with device.up(MODEL, size_bytes=64 << 20, file_system=None, floor_ns=0, log_path=log) as disk:
            words = ["fio", f"--filename={disk.block_device}", *FIO.split(), "--output-format=json"]
            with tpcc._requests(disk.block_device, fast, "x") as lines, kernels_tracer(disk.block_device, kernel):
                said = json.loads(subprocess.run(words, capture_output=True, check=True, timeout=120).stdout)
                time.sleep(0.3)
            tpcc._write(lines, disk.block_device.name, notes)
        found = {"log": formats.read([log]), "biosnoop": formats.read([notes])}
        found |= {"blkparse": formats.read([kernel])} if kernel.exists() else {}
    (job,) = said["jobs"]
    own, _ = found["log"]
    for name, (requests, (counts,)) in found.items():
        assert counts.rejected == {}, name
        assert placed(requests) == placed(own), name
        for op in ("read", "write"):
            moves = requests[requests["op"] == op]
            assert (len(moves), moves["length"].sum()) == (job[op]["total_ios"], job[op]["io_bytes"]), name
            # The log, the kernel and fio take the time at different places, which are some microseconds apart.
            assert moves["latency_ns"].mean() == pytest.approx(own.loc[own["op"] == op, "latency_ns"].mean(), rel=0.1), name
    if "blkparse" in found:
        assert (found["blkparse"][0]["op"] == "flush").sum() == (own["op"] == "flush").sum()
