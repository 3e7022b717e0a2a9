"""A real disk as a device, the kernel's own view of requests, and a slow disk whose delays are known."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import for_release

from benchmarks.slow_disk import slow_disk
from tickdisk import device, profile, trace
from tickdisk.calibrate.nbd import missing, nbd_chain
from tickdisk.device import folder_device
from tickdisk.device import record as records
from tickdisk.device.loop import LoopDevice
from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]
SIZE = 64 << 20
DELAY_MS = 4
WRITES, EVERY = 120, 4
SLOW = device.DeviceModel(
    name="slow", read_latency_ns=DELAY_MS * 1_000_000, write_latency_ns=DELAY_MS * 1_000_000, flush_latency_ns=0
)
OWNER = """
import sys, time
from pathlib import Path
from tickdisk import device
with device.up(device.REAL_DISK, backend="folder", backing=Path(sys.argv[1]), size_bytes=64 << 20, name=sys.argv[2]) as disk:
    (disk.mount_point / "file").write_bytes(bytes(1 << 20))
    print(disk.block_device, flush=True)
    time.sleep(1000)
"""
with_nbdkit = pytest.mark.skipif(bool(missing()), reason="nbdkit or nbdfuse is not installed")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Returns a folder on this machine's disk with a file of its owner."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        (Path(name) / "precious").write_text("keep")
        yield Path(name)


def attached() -> set[str]:
    return {path.parent.parent.name for path in Path("/sys/block").glob("loop*/loop/backing_file")}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fio(path: Path, *options: str) -> dict[str, Any]:
    """Runs fio, and returns what it says about its job."""
    words = ["--name=known", f"--filename={path}", "--bs=4k", "--ioengine=psync", "--direct=1", f"--size={SIZE}", "--norandommap"]
    said = process.run(["fio", *words, *options, "--output-format=json"], timeout_s=120)
    job: dict[str, Any] = json.loads(said[said.index("{") :])["jobs"][0]
    return job


def traced_writes(path: Path, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the writes and the flushes that the kernel saw while fio made a number of them that is known, which is checked."""
    seen = trace.BlockTrace(path, folder / "blocks.txt", folder, None)
    try:
        job = fio(path, "--rw=randwrite", f"--io_size={WRITES * 4096}", f"--fsync={EVERY}")
        found = seen.stop()
    finally:
        seen.kill()
    writes, flushes = (found.requests[found.requests["op"] == op] for op in ("write", "flush"))
    assert len(writes) == job["write"]["total_ios"] == WRITES
    assert (writes["length"] == 4096).all()
    assert len(flushes) == job["sync"]["total_ios"] >= WRITES // EVERY - 1
    assert (found.lost, found.unpaired) == (0, 0)
    now_ns = time.monotonic_ns()
    assert now_ns - 120 * 10**9 < writes["issued_ns"].min() < writes["completed_ns"].max() < now_ns
    return writes, flushes


def test_a_real_disk_and_an_emulated_one_are_written_alike_and_traced_alike_and_go_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracles: fio makes a known number of requests, the kernel and the emulator count what was written before, and filefrag
    says which parts of the file hold data.
    """
    before, written, nameless, kept = attached(), {}, folder_device._nameless_file, []

    def also_kept(*arguments: Any) -> int:
        kept.append(os.dup(descriptor := nameless(*arguments)))
        return descriptor

    monkeypatch.setattr(folder_device, "_nameless_file", also_kept)
    for backend, backing in (("folder", folder), ("fuse", None)):
        up = partial(device.up, device.REAL_DISK, backend=backend, backing=backing, size_bytes=SIZE, floor_ns=0, filled=True)
        with up() as disk:
            (disk.mount_point / "file").write_text("content")
            disk.remount()
            assert (disk.mount_point / "file").read_text() == "content"
            said = disk.status().bytes
            assert said["discard"] < SIZE / 2, "mkfs did not discard the whole device"
            written[backend] = (
                said["write"] + said["discard"]
            )  # The emulator counts zeroes as discarded, and the kernel does not.
            assert names(folder) == ["precious"], "the file has no name"
        with up(file_system=None) as disk:
            assert disk.status().bytes["write"] == SIZE
            with disk.block_device.open("rb") as file:
                assert all(file.read(1 << 20).count(0) < 1 << 16 for _ in range(SIZE >> 20)), "random bytes have few zeroes"
            traced_writes(disk.block_device, tmp_path)
    for descriptor in kept:
        told = process.run(["filefrag", "-v", f"/proc/{os.getpid()}/fd/{descriptor}"], timeout_s=10)
        assert "eof" in told
        assert "unwritten" not in told, "a write to such a part changes more than the data"
        os.close(descriptor)
    assert written["fuse"] == pytest.approx(written["folder"], abs=1 << 20)
    assert attached() == before
    assert (folder / "precious").read_text() == "keep"
    assert list(records.STATE.iterdir()) == []


@for_release
@with_nbdkit
def test_the_kernel_s_requests_take_nbdkit_s_delay(tmp_path: Path, folder: Path) -> None:
    """The oracle: nbdkit sleeps before each write. Another loop device is busy meanwhile, whose requests must not count."""
    other = folder / "other"
    other.write_bytes(os.urandom(SIZE))
    loop = LoopDevice(other, "tickdisk test")
    try:
        with nbd_chain(SLOW, tmp_path / "nbd", SIZE) as target:
            words = ["--name=busy", f"--filename={loop.path}", "--rw=randread", "--direct=1", "--time_based=1", "--runtime=30"]
            busy = process.Child("busy", ["fio", *words], tmp_path)
            try:
                writes, flushes = traced_writes(target.path, tmp_path)
            finally:
                busy.stop(5)
    finally:
        loop.close()
    took_ns = writes["completed_ns"] - writes["issued_ns"]
    assert took_ns.min() >= DELAY_MS * 1_000_000
    assert took_ns.median() < 3 * DELAY_MS * 1_000_000
    flushed_ns = flushes["completed_ns"] - flushes["issued_ns"]
    assert flushed_ns.median() < DELAY_MS * 1_000_000, "nbdkit does not delay flushes"


@for_release
@pytest.mark.parametrize("file_system", ["ext4", "xfs", "btrfs"])
def test_a_real_disk_is_mounted_and_goes_again_with_nothing_left(file_system: str, folder: Path) -> None:
    if shutil.which(device.MKFS[file_system][0]) is None:
        pytest.skip(f"no {device.MKFS[file_system][0]}")
    size, content, before = max(SIZE, 320 << 20 if file_system != "ext4" else 0), os.urandom(2 << 20), attached()
    with device.up(device.REAL_DISK, backend="folder", backing=folder, size_bytes=size, file_system=file_system) as disk:
        assert names(folder) == ["precious"], "the file has no name"
        room, counted = os.statvfs(folder), disk.status()
        (disk.mount_point / "file").write_bytes(content)
        disk.remount()
        assert (disk.mount_point / "file").read_bytes() == content
        assert abs(os.statvfs(folder).f_bfree - room.f_bfree) * room.f_frsize < 32 << 20, "the room was there before"
        status = disk.status()
        assert status.bytes["write"] - counted.bytes["write"] >= len(content)
        assert status.bytes["read"] - counted.bytes["read"] >= len(content)
        assert disk.set(device.REAL_DISK, floor_ns=0).effective_ns <= time.monotonic_ns()
        with pytest.raises(TickdiskError, match="a real disk, whose speed cannot be set"):
            disk.set(SLOW, floor_ns=0)
        with pytest.raises(TickdiskError, match="of backend folder cannot be stalled"):
            disk.stall(1)
        with pytest.raises(TickdiskError, match="of backend folder has no emulator"):
            _ = disk.daemon_pid
        with pytest.raises(TickdiskError, match="no power to cut"):
            disk.cut()
        assert disk.alive()
    assert attached() == before
    assert (folder / "precious").read_text() == "keep"
    assert list(records.STATE.iterdir()) == []


@for_release
def test_what_a_real_disk_cannot_do_is_said_before_anything_is_done(folder: Path, tmp_path: Path) -> None:
    before = attached()
    up = partial(device.up, device.REAL_DISK, backend="folder", backing=folder)
    for refused, words in (
        (partial(up, size_bytes=SIZE, log_path=tmp_path / "log"), "keeps no log"),
        (partial(up, size_bytes=SIZE, volatile=True), "cannot lose what was not flushed"),
        (partial(up, size_bytes=1 << 50), "do not fit"),
    ):
        with pytest.raises(TickdiskError, match=words), refused():
            pass
    with pytest.raises(TickdiskError, match="only while a program uses it"):
        device.bring_up(device.REAL_DISK, backend="folder", backing=folder, size_bytes=SIZE, detached=True)
    assert attached() == before
    assert names(folder) == ["precious"]
    assert list(records.STATE.iterdir()) == []


@for_release
def test_nothing_of_a_real_disk_is_left_after_kill_9(folder: Path) -> None:
    before, name, room = attached(), f"owner-{os.getpid()}", os.statvfs(folder)
    with subprocess.Popen([sys.executable, "-c", OWNER, str(folder), name], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        mine = Path(owner.stdout.readline().strip())
        assert attached() - before == {mine.name}
        owner.kill()
    removed = device.recover()
    assert f"{name}: file system at {records.STATE / name / 'fs'}" in removed
    assert attached() == before
    assert names(folder) == ["precious"]
    assert (folder / "precious").read_text() == "keep"
    assert list(records.STATE.iterdir()) == []
    deadline = time.monotonic() + 20
    while (os.statvfs(folder).f_bfree - room.f_bfree) * room.f_frsize < -(SIZE // 2):
        assert time.monotonic() < deadline, "the kernel frees the file when the loop device is gone"
        time.sleep(0.1)


@for_release
@with_nbdkit
def test_a_slow_disk_is_as_slow_as_it_says_and_goes_again(folder: Path) -> None:
    before, place = attached(), folder / "slow"
    told = profile.DiskTruth(read_ms=3, write_ms=5, bandwidth_bytes_per_s=100 << 20)
    with slow_disk(place, told, 512 << 20) as disk:
        assert profile.read_truth(disk) == told
        assert os.path.ismount(disk)
        with device.up(device.REAL_DISK, backend="folder", backing=disk, size_bytes=SIZE, file_system=None) as real:
            for op, delay_ms in (("read", told.read_ms), ("write", told.write_ms)):
                started = time.monotonic()
                fio(real.block_device, f"--rw=rand{op}", f"--io_size={50 * 4096}")
                assert time.monotonic() - started >= 50 * delay_ms / 1000
    assert attached() == before
    assert profile.read_truth(place) is None
    assert names(place) == []


@for_release
@with_nbdkit
def test_a_slow_disk_goes_with_its_script_however_that_ends(folder: Path) -> None:
    before, place = attached(), folder / "slow"
    command = [sys.executable, "-m", "benchmarks.slow_disk", str(place), "--seed=1"]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as script:
            assert script.stdout is not None
            assert script.stdout.readline().strip() == str(place)
            assert profile.read_truth(place) is not None
            script.send_signal(number)
            assert script.wait(60) == (-number if number == signal.SIGKILL else 0)
        deadline = time.monotonic() + 20
        while os.path.ismount(place) or attached() != before:
            assert time.monotonic() < deadline
            time.sleep(0.1)
