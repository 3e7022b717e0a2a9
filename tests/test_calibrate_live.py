"""A calibration on a real emulated device: every layer counts what was made, and the figures are those of the raw table."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import for_release

from tickdisk import calibrate, device
from tickdisk.calibrate import Job
from tickdisk.calibrate.region import largest_extent

pytestmark = pytest.mark.live

DISK = device.DeviceModel(
    name="disk",
    read_latency_ns=1_000_000,
    write_latency_ns=1_000_000,
    flush_latency_ns=1_000_000,
    bandwidth_bytes_per_s=500_000_000,
)


def test_requests_made_are_requests_counted_in_every_layer(tmp_path: Path) -> None:
    made = [
        Job("read", "random", 4096, 4, requests=230),
        Job("write", "random", 4096, 1, requests=57),
        Job("read_write", "random", 4096, 16, requests=91),
    ]
    log = tmp_path / "device.log"
    with calibrate.bench(DISK, size_bytes=1 << 30, folder=tmp_path, limits={}, log_path=log) as bench:
        bench.set(DISK, floor_ns=0)
        offset, length = largest_extent(bench.disk.mount_point / "calibration-raw")
        measured, settings = [], []
        for job in made:
            settings.append(bench.set(DISK, floor_ns=0).number)
            measured.append(bench.run(job))
        synced_setting = bench.set(DISK, floor_ns=0).number
        synced = bench.run(Job("pwrite_fsync", "random", 4096, 1, requests=20))
    table = device.read_log(log).to_pandas()
    for job, each, setting in zip(made, measured, settings, strict=True):
        writes = int(each.requests.is_write.sum())
        assert len(each.requests) == job.requests  # fio's own count, too: run_job compares
        assert each.device_requests == {"read": len(each.requests) - writes, "write": writes, "flush": 0, "discard": 0}
        rows = table[table.setting == setting]
        assert Counter(rows.op) == Counter({op: n for op, n in each.device_requests.items() if n})
        assert bool((rows.length == 4096).all())
        # in no block that belongs to somebody else
        assert bool(rows.offset.between(offset, offset + length - 4096).all())
        assert int(rows.inflight.max()) <= job.queue_depth
        assert bool((each.requests.latency_ns >= DISK.service_ns(4096)).all())
    # an fsync reaches the device as a flush: at least one a request, after the data of each
    assert len(synced.requests) == 20
    assert synced.device_requests["flush"] >= 20
    assert synced.device_requests["write"] >= 20
    assert Counter(table[table.setting == synced_setting].op)["flush"] == synced.device_requests["flush"]
    assert int(np.median(synced.requests.latency_ns)) >= 2 * DISK.flush_latency_ns


@for_release  # a run at scale smoke calibrates every tier
def test_a_short_calibration(tmp_path: Path) -> None:
    other = DISK.with_latency(3_000_000)
    said: list[str] = []
    out = tmp_path / "calibration.json"
    made = calibrate.calibrate([DISK, other], tiers=["disk"], seconds_per_job=0.2, out_path=out, say=said.append, limits={})
    assert calibrate.load_calibration(out) == made
    assert [line.split(":")[0] for line in said] == ["disk", other.name]
    tier, floor_only = made.devices
    assert len(tier.jobs) == 11
    assert floor_only.jobs == []
    assert 0 < tier.floor_ns < tier.latency_ns
    assert calibrate.floor_ns(made, other) == floor_only.floor_ns
    assert tier.cpu_ns_per_request > 0
    raw = pq.read_table(tmp_path / made.requests).to_pandas()
    for job in tier.jobs:
        rows = raw[(raw.device == "disk") & (raw.job == job.job)]
        assert len(rows) == job.n_counted
        kept = rows[~rows.ramp]
        assert len(kept) == job.n
        assert sorted(kept.latency_ns)[(job.n + 1) // 2 - 1] == job.p50_ns
        if job.block_bytes == 4096 and job.op != "pwrite_fsync":
            assert job.n_device == {"read": 0, "write": 0, "flush": 0, "discard": 0, job.op: job.n_counted}
    # a device of 500 MB/s and 1 ms, whatever else the machine does meanwhile: never faster than it is
    for job in tier.jobs:
        if job.pattern == "sequential":
            assert job.bandwidth_bytes_per_s is not None
            assert 0.2 < job.bandwidth_bytes_per_s / 5e8 < 1.02
    assert len(calibrate.acceptance(made)) == 6
    assert (tmp_path / "calibration" / "logs" / "disk" / "read_random_4k_qd1.fio").exists()


@pytest.mark.parametrize(
    ("backend", "file_system"), [("tree", "tree"), ("fuse", "xfs"), pytest.param("fuse", "btrfs", marks=for_release)]
)
def test_a_calibration_says_what_it_ran_on(backend: str, file_system: str, tmp_path: Path) -> None:
    asked = "ext4" if backend == "tree" else file_system
    if backend != "tree" and shutil.which(device.MKFS[asked][0]) is None:
        pytest.skip(f"no {device.MKFS[asked][0]}")
    out, slow = tmp_path / "calibration.json", DISK.with_latency(10_000_000)  # other programs' noise is far below
    made = calibrate.calibrate(
        [slow], tiers=[], seconds_per_job=0.1, out_path=out, say=lambda _: None, limits={}, backend=backend, file_system=asked
    )
    assert (made.backend, made.file_system) == (backend, file_system)
    (disk,) = made.devices
    assert 0 < disk.floor_ns < disk.latency_ns
    assert disk.p50_ns + disk.floor_ns >= 0.9 * disk.latency_ns, "the model is in force, whatever else the machine does"
