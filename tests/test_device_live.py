"""An emulated device that is up: what its log says of a known workload, and what changes while it is mounted."""

import fcntl
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tickdisk import device
from tickdisk.device import DeviceModel, MountedDevice
from tickdisk.foundation import process, table
from tickdisk.foundation.errors import TickdiskError

pytestmark = pytest.mark.live
SIZE = 64 << 20
BLKDISCARD = 0x1277
TICKDISK = Path(sys.executable).parent / "tickdisk"


def model(latency_ns: int, **values: int) -> DeviceModel:
    known = {"read_latency_ns": latency_ns, "write_latency_ns": latency_ns, "flush_latency_ns": latency_ns}
    return DeviceModel(name=f"test-{latency_ns}", **{**known, **values})


@contextmanager
def direct(path: Path) -> Iterator[tuple[int, mmap.mmap]]:
    """Yields a descriptor without a page cache and a buffer that fits it."""
    descriptor = os.open(path, os.O_RDWR | os.O_DIRECT)
    try:
        yield descriptor, mmap.mmap(-1, 1 << 20)
    finally:
        os.close(descriptor)


def rows(log: Path, setting: int) -> pd.DataFrame:
    frame = device.read_log(log).to_pandas()
    return frame[frame["setting"] == setting].reset_index(drop=True)


def test_the_log_has_a_row_for_every_request_that_was_made(tmp_path: Path) -> None:
    log, rng = tmp_path / "device.log", np.random.default_rng(3)
    lengths = [512, 4096, 16384, 65536]
    made: list[tuple[str, int, int]] = []
    with device.up(model(0), size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk:
        with direct(disk.block_device) as (descriptor, buffer):
            setting = disk.set(model(50_000, discard_latency_ns=1000), floor_ns=0)
            content = bytearray(SIZE)
            for _ in range(200):
                length = int(rng.choice(lengths))
                offset = int(rng.integers((SIZE - length) // 4096)) * 4096
                view = memoryview(buffer)[:length]
                match rng.integers(4):
                    case 0:
                        assert os.preadv(descriptor, [view], offset) == length
                        assert bytes(view) == content[offset : offset + length]
                        made.append(("read", offset, length))
                    case 1:
                        view[:] = content[offset : offset + length] = rng.bytes(length)
                        assert os.pwritev(descriptor, [view], offset) == length
                        made.append(("write", offset, length))
                    case 2:
                        os.fsync(descriptor)
                        made.append(("flush", 0, 0))
                    case 3:
                        length = max(length, 4096)
                        fcntl.ioctl(descriptor, BLKDISCARD, struct.pack("=2Q", offset, length))
                        content[offset : offset + length] = bytes(length)
                        made.append(("discard", offset, length))
            disk.set(model(0), floor_ns=0)
        status = disk.status()
    seen = rows(log, setting.number)
    assert [tuple(row) for row in seen[["op", "offset", "length"]].itertuples(index=False)] == made
    assert set(seen["inflight"]) == {1}
    assert (status.log_overflow, status.inflight) == (0, 0)
    assert {op for op, _, _ in made} == set(device.OPS)
    everything = device.read_log(log)
    assert everything["seq"].to_pylist() == list(range(everything.num_rows))
    table.write("device", tmp_path / "device.parquet", everything)


def test_a_setting_holds_from_its_time_and_its_arithmetic_is_exact(tmp_path: Path) -> None:
    log = tmp_path / "device.log"
    models = [model(5_000_000, bandwidth_bytes_per_s=10**6), model(200_000, write_latency_ns=5_000_000), model(1_000_000)]
    settings, floor_ns = [], 100_000
    with (
        device.up(model(0), size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk,
        direct(disk.block_device) as (descriptor, buffer),
    ):
        for each in models:
            settings.append(disk.set(each, floor_ns=floor_ns))
            for number in range(10):
                os.preadv(descriptor, [memoryview(buffer)[:4096]], number * 4096)
                os.pwritev(descriptor, [memoryview(buffer)[:8192]], number * 8192)
        end = disk.set(model(0), floor_ns=0)
    transfer = {"read": [4096 * 1000, 0, 0], "write": [8192 * 1000, 0, 0]}  # at 1 MB/s a byte takes a microsecond
    for i, (each, setting, following) in enumerate(zip(models, settings, [*settings[1:], end], strict=True)):
        seen = rows(log, setting.number)
        assert len(seen) == 20
        assert seen["arrival_ns"].between(setting.effective_ns, following.effective_ns).all()
        latency = dict(zip(device.OPS, each.latency_ns, strict=True))
        expected = [max(latency[op], transfer[op][i]) for op in seen["op"]]
        assert (seen["nominal_ns"] - seen["arrival_ns"]).tolist() == expected
        assert (seen["replied_ns"] >= seen["nominal_ns"] - floor_ns).all()


def test_requests_overlap_in_the_device(tmp_path: Path) -> None:
    log = tmp_path / "device.log"
    with device.up(model(0), size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk:
        setting = disk.set(model(5_000_000), floor_ns=0)
        options = "--name=x --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=32 --size=32m --number_ios=640"
        process.run(["fio", *options.split(), f"--filename={disk.block_device}", "--output-format=json"])
        assert disk.status().max_inflight >= 32
    seen = rows(log, setting.number)
    seen = seen[seen["op"] == "read"]
    took_s = (seen["replied_ns"].max() - seen["arrival_ns"].min()) / 1e9
    assert len(seen) >= 640
    assert seen["inflight"].max() >= 32
    assert took_s < 640 * 5e-3 / 3, "one at a time takes 3.2 s"


def test_files_stay_through_set_and_remount_and_the_cache_is_cold_then(tmp_path: Path) -> None:
    log, content = tmp_path / "device.log", os.urandom(4 << 20)
    with device.up(model(0), size_bytes=SIZE, floor_ns=0, log_path=log) as disk:
        (disk.mount_point / "world").write_bytes(content)
        os.sync()
        warm = disk.set(model(100_000), floor_ns=0)
        assert (disk.mount_point / "world").read_bytes() == content
        disk.set(model(0), floor_ns=0)
        disk.remount()
        cold = disk.set(model(50_000), floor_ns=0)
        assert (disk.mount_point / "world").read_bytes() == content
        disk.set(model(0), floor_ns=0)
        with (disk.mount_point / "world").open("rb"), pytest.raises(TickdiskError, match=f"in use by process {os.getpid()}"):
            disk.remount()
    read = {setting: rows(log, setting).query("op == 'read'")["length"].sum() for setting in (warm.number, cold.number)}
    assert read[warm.number] == 0
    assert read[cold.number] >= len(content)


def test_a_stall_begins_with_a_request_and_holds_all_until_its_end(tmp_path: Path) -> None:
    log = tmp_path / "device.log"
    with (
        device.up(model(0), size_bytes=64 << 20, file_system=None, floor_ns=0, log_path=log) as disk,
        direct(disk.block_device) as io,
    ):
        descriptor, page = io
        armed_ns = disk.stall(300_000_000)
        before_ns = time.monotonic_ns()
        os.preadv(descriptor, [page], 0)
        stalled_ns = time.monotonic_ns() - before_ns
        os.preadv(descriptor, [page], 0)
        after_ns = time.monotonic_ns() - before_ns - stalled_ns
        [(begin_ns, end_ns)] = disk.status().stalls
    assert end_ns - begin_ns == 300_000_000
    assert begin_ns > armed_ns
    assert stalled_ns >= 290_000_000
    assert after_ns < 100_000_000
    held = device.read_log(log).to_pandas().query("nominal_ns == @end_ns")
    assert held["arrival_ns"].min() == begin_ns


def test_extents_are_where_the_device_has_the_bytes() -> None:
    """The oracle: the file's bytes, read back from the block device at the places that the extents name."""
    content = os.urandom(3 << 20)
    with device.up(model(0), size_bytes=SIZE, floor_ns=0) as disk:
        path = disk.mount_point / "file"
        path.write_bytes(content)
        os.sync()
        extents = list(device.extents_of(path))
        with disk.block_device.open("rb") as block:
            for _, offset, physical, length in extents:
                block.seek(physical)
                assert block.read(length) == content[offset : offset + length]
        with device.ExtentRecorder(disk.mount_point, period_s=0.05) as recorder:
            passing = disk.mount_point / "journal"
            passing.write_bytes(content[:8192])
            with passing.open("rb") as file:
                os.fsync(file.fileno())
            time.sleep(0.3)
            passing.unlink()
        seen = recorder.table()
    assert sum(length for *_, length in extents) == len(content)
    assert set(seen["file"]) == {str(path), str(passing)}


def burner_cpu_ns(disk: MountedDevice) -> int:
    return int(disk.status().cpu_ns_by_thread["device-burner"])


def test_the_sham_burns_cpu_for_each_request(tmp_path: Path) -> None:
    log, requests, burn_ns = tmp_path / "device.log", 20, 3_000_000  # long ones, so that waking the burner counts little
    with (
        device.up(model(0), size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk,
        direct(disk.block_device) as (descriptor, buffer),
    ):
        before = burner_cpu_ns(disk)
        disk.set(model(1_000_000).with_burn(burn_ns), floor_ns=0)
        for number in range(requests):
            os.preadv(descriptor, [memoryview(buffer)[:4096]], number * 4096)
        disk.set(model(0), floor_ns=0)
        deadline = time.monotonic() + 10
        while disk.status().burn_owed_ns > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
        burned = burner_cpu_ns(disk) - before
    assert burned == pytest.approx(requests * burn_ns, rel=0.2)


def test_the_floor_is_measured_when_a_device_is_brought_up() -> None:
    slow = model(2_000_000)
    with device.up(slow, size_bytes=SIZE, file_system=None) as disk:
        assert 0 < disk.status().floor_ns < slow.read_latency_ns


@pytest.mark.parametrize("file_system", ["ext4", "xfs", "btrfs"])
def test_every_file_system(file_system: str, tmp_path: Path) -> None:
    if shutil.which(device.MKFS[file_system][0]) is None:
        pytest.skip(f"no {device.MKFS[file_system][0]}")
    content, log = os.urandom(4 << 20), tmp_path / "device.log"
    with device.up(model(0), size_bytes=320 << 20, file_system=file_system, floor_ns=0, log_path=log) as disk:
        assert (disk.file_system, disk.tells_extents) == (file_system, file_system != "btrfs")
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        assert [line for line in lines if f" {disk.mount_point} " in line and f" - {file_system} {disk.block_device} " in line]
        (disk.mount_point / "file").write_bytes(content)
        disk.remount()
        cold = disk.set(model(50_000), floor_ns=0)
        assert (disk.mount_point / "file").read_bytes() == content
        with (disk.mount_point / "file").open("r+b") as file:
            file.write(b"tick")
            file.flush()
            os.fsync(file.fileno())
    seen = rows(log, cold.number)
    assert seen.query("op == 'read'")["length"].sum() >= len(content)
    assert {"write", "flush"} <= set(seen["op"])


def test_what_cannot_be_mounted_is_said_before_anything_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    for values, message in (
        ({"size_bytes": 1 << 50}, "does not fit into"),
        ({"size_bytes": 4097}, "multiple of 4096"),
        ({"file_system": "fat"}, "unknown file system fat; known are ext4"),
    ):
        with pytest.raises(TickdiskError, match=message), device.up(model(0), **values):
            pass
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with (
        pytest.raises(TickdiskError, match="backend fuse does not work here: it needs root"),
        device.up(model(0), backend="fuse"),
    ):
        pass
    for backend, message in (
        ("floppy", "unknown backend floppy; known are fuse, tree"),
        ("simulated", "no device can be mounted here by backend simulated; `tickdisk doctor` says more"),
    ):
        with pytest.raises(TickdiskError, match=message), device.up(model(0), backend=backend):
            pass


def test_by_hand(tmp_path: Path) -> None:
    name = f"hand-{os.getpid()}"
    devices = f"--devices={Path(__file__).parent.parent / 'data/devices.yaml'}"

    def tickdisk(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([TICKDISK, "device", *words], capture_output=True, text=True, check=False, cwd=tmp_path)

    up = tickdisk("up", "sata_ssd", "--size=64M", f"--name={name}", devices)
    assert up.returncode == 0, up.stderr
    known = device.load_devices(Path(__file__).parent.parent / "data/devices.yaml")
    mount_point = Path("/run/tickdisk") / name / "fs"
    (mount_point / "file").write_text("tick")
    own_account = subprocess.run(["cat", mount_point / "file"], user="nobody", capture_output=True, text=True, check=False)
    assert own_account.stdout == "tick", "a server does not run as root"
    assert "already up" in tickdisk("up", "hdd", "--size=64M", f"--name={name}", devices).stderr
    for tier in ("sata_ssd", "nvme_ssd"):
        assert tickdisk("set", tier, name, devices).returncode == 0
        status = json.loads(tickdisk("status", name).stdout)
        assert (status["device"], status["description"]) == (tier, known[tier].description)
        assert status["inflight"] == 0
    assert (mount_point / "file").read_text() == "tick"
    assert tickdisk("down", name).stdout == f"{name}: gone\n"
    assert not mount_point.exists()
    for words in (("status",), ("down",), ("cut",), ("stall", "5"), ("set", "hdd")):
        gone = tickdisk(*words, name)
        assert (gone.returncode, gone.stdout) == (2, "")
        assert gone.stderr == f"tickdisk: no device {name} is mounted; `tickdisk device up hdd` mounts one\n"


def test_a_device_that_somebody_stands_in_says_who_and_fails(tmp_path: Path) -> None:
    def tickdisk(*words: str) -> tuple[int, str, str]:
        ran = subprocess.run([TICKDISK, "device", *words], capture_output=True, text=True, check=False, cwd=tmp_path)
        return ran.returncode, ran.stdout, ran.stderr

    name = f"stood-in-{os.getpid()}"
    devices = f"--devices={Path(__file__).parent.parent / 'data/devices.yaml'}"
    code, mount_point, _ = tickdisk("up", "memory", "--size=64M", f"--name={name}", devices)
    assert code == 0
    with subprocess.Popen(["sleep", "1000"], cwd=mount_point.strip()) as stranger:
        try:
            for _ in range(2):
                code, said, why = tickdisk("down", name)
                assert (code, said) == (1, "")
                assert why.startswith(f"tickdisk: {name}: down, but still in use: loop device /dev/loop")
                assert f"(processes: {stranger.pid}); when they have closed it, `tickdisk device recover`" in why
        finally:
            stranger.kill()
    deadline = time.monotonic() + 20
    while f"{name}:" in tickdisk("recover")[1] or (Path("/run/tickdisk") / f"{name}.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
