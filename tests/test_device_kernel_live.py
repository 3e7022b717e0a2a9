"""The kernel's own block devices, and every mounted backend under the same known work."""

import mmap
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tickdisk import device
from tickdisk.device import BACKENDS, DeviceModel
from tickdisk.device import record as records
from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.machine import Machine

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]
SIZE = 320 << 20
FAST = DeviceModel(name="fast", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)
OWNER = """
import sys, time
from pathlib import Path
from tickdisk import device
model = device.DeviceModel(name="fast", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)
with device.up(model, backend=sys.argv[2], size_bytes=64 << 20, name=sys.argv[1]) as disk:
    (disk.mount_point / "file").write_bytes(bytes(1 << 20))
    print(disk.block_device, flush=True)
    time.sleep(1000)
"""
KERNEL = [name for name in ("zram", "null_blk") if BACKENDS[name].lacks(Machine()) is None]
MOUNTED = [name for name, backend in BACKENDS.items() if backend.abilities.mounts and backend.lacks(Machine()) is None]


def block_devices() -> set[str]:
    return {path.name for path in Path("/sys/block").iterdir() if not path.name.startswith("loop")}


@pytest.mark.parametrize("backend", KERNEL)
@pytest.mark.parametrize("file_system", ["ext4", "xfs", "btrfs"])
def test_a_device_of_its_own_that_goes_again(backend: str, file_system: str) -> None:
    if shutil.which(device.MKFS[file_system][0]) is None:
        pytest.skip(f"no {device.MKFS[file_system][0]}")
    before, content = block_devices(), os.urandom(2 << 20)
    with device.up(FAST, backend=backend, size_bytes=SIZE, file_system=file_system) as disk:
        assert block_devices() - before == {disk.block_device.name}
        assert int((Path("/sys/block") / disk.block_device.name / "size").read_text()) * 512 == SIZE
        (disk.mount_point / "file").write_bytes(content)
        disk.remount()
        counted = disk.status()
        assert (disk.mount_point / "file").read_bytes() == content
        after = disk.status()
        assert after.bytes["read"] - counted.bytes["read"] >= len(content)
        assert counted.bytes["write"] >= len(content)
        with pytest.raises(TickdiskError, match="stalled"):
            disk.stall(1)
        assert disk.alive()
    assert block_devices() == before
    assert not disk.alive()


@pytest.mark.parametrize("backend", KERNEL)
def test_what_it_cannot_do_is_said_before_anything_is_done(backend: str, tmp_path: Path) -> None:
    before = block_devices()
    model = DeviceModel(name="uneven", read_latency_ns=1000, write_latency_ns=2000, flush_latency_ns=1000)
    with pytest.raises(TickdiskError, match=f"backend {backend} cannot be device uneven"), device.up(model, backend=backend):
        pass
    with pytest.raises(TickdiskError, match="keeps no log"), device.up(FAST, backend=backend, log_path=tmp_path / "log"):
        pass
    assert block_devices() == before
    assert list(records.STATE.iterdir()) == []


@pytest.mark.parametrize("backend", KERNEL)
def test_the_owner_is_killed(backend: str) -> None:
    before, name = block_devices(), f"owner-{os.getpid()}"
    with device.up(FAST, backend=backend, size_bytes=64 << 20) as living:
        with subprocess.Popen([sys.executable, "-c", OWNER, name, backend], stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline().strip() != str(living.block_device)
            assert device.recover() == []
            owner.kill()
        removed = device.recover()
        assert removed == [f"{name}: file system at {records.STATE / name / 'fs'}", f"{name}: block device {backend}"]
        assert block_devices() - before == {living.block_device.name}
        (living.mount_point / "file").write_text("alive")
    assert block_devices() == before


@pytest.mark.parametrize("backend", MOUNTED)
def test_bytes_are_kept(backend: str, tmp_path: Path) -> None:
    """The oracle is fio's: crc32c of every block, written in random order, read back cold."""
    checked = "--verify=crc32c --verify_fatal=1 --verify_state_save=0"
    common = f"--name=kept --rw=randwrite --bs=4k --size=8m {checked} --output-format=json"
    backing = Path("/var/tmp") if backend == "folder" else None
    with device.up(FAST, backend=backend, size_bytes=SIZE, floor_ns=0, logs=tmp_path, backing=backing) as disk:
        where = f"--filename={disk.mount_point / 'file'}"
        for how in ("--ioengine=libaio --iodepth=16 --direct=1", "--ioengine=psync --fsync=64"):
            process.run(["fio", *common.split(), *how.split(), where, "--do_verify=0"], timeout_s=120)
            disk.remount()
            process.run(["fio", *common.split(), *how.split(), where, "--verify_only=1"], timeout_s=120)
        # A test that could fail: one byte that is not what was written is found.
        with (disk.mount_point / "file").open("r+b") as file:
            file.seek(123 * 4096 + 2000)
            file.write(b"\0\1\2\3")
        with pytest.raises(TickdiskError, match="fio"):
            process.run(["fio", *common.split(), "--ioengine=psync", where, "--verify_only=1"], timeout_s=120)


@pytest.mark.skipif("null_blk" not in KERNEL, reason="no null_blk here; tests/test_device_guest.py runs this in a guest")
def test_null_blk_holds_requests_for_its_latency_and_stays_what_it_is() -> None:
    slow = DeviceModel(name="slow", read_latency_ns=20_000_000, write_latency_ns=20_000_000, flush_latency_ns=20_000_000)
    with device.up(slow, backend="null_blk", size_bytes=64 << 20, file_system=None) as disk:
        descriptor, buffer = os.open(disk.block_device, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
        started_ns = time.monotonic_ns()
        for number in range(10):
            os.preadv(descriptor, [buffer], number * 4096)
        took_ns = time.monotonic_ns() - started_ns
        os.close(descriptor)
        assert disk.set(slow, floor_ns=0).model == "slow"
        with pytest.raises(TickdiskError, match="does not change while it is mounted"):
            disk.set(slow.with_latency(1000), floor_ns=0)
    assert took_ns >= 10 * 20_000_000
