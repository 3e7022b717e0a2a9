"""Power loss: what was flushed is there, what was not is gone, and who had it open gets errors."""

import errno
import fcntl
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import for_release

from tickdisk import device
from tickdisk.device import MountedDevice
from tickdisk.device import record as records
from tickdisk.device.loop import is_ours
from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]
TICKDISK = Path(sys.executable).parent / "tickdisk"
ROOT = Path(__file__).parent.parent
SIZE, BLOCK = 16 << 20, 4096
BLOCKS = SIZE // BLOCK
BLKDISCARD = 0x1277
LIMIT_S = 20
FAST = device.DeviceModel(name="fast", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)
SLOW = device.DeviceModel(
    name="slow", read_latency_ns=10**12, write_latency_ns=10**12, flush_latency_ns=10**12
)  # it never answers
CUTTER = """
import itertools, sys
from tickdisk import device
model = device.DeviceModel(name="fast", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)
with device.up(model, size_bytes=16 << 20, floor_ns=0, name=sys.argv[1], volatile=True) as disk:
    print(disk.daemon_pid, flush=True)
    for number in itertools.count():
        (disk.mount_point / "file").write_bytes(bytes(1 << 16))
        disk.cut(0.5, number)
"""


def nothing_left(name: str) -> bool:
    mark = f"tickdisk:{name}"
    loops = [int(path.parent.name.removeprefix("loop")) for path in Path("/sys/block").glob("loop*/loop")]
    mounted = mark in Path("/proc/self/mountinfo").read_text()
    return not mounted and not any(is_ours(loop, mark) for loop in loops) and not list(records.STATE.glob(f"{name}*"))


@contextmanager
def direct(path: Path) -> Iterator[tuple[int, mmap.mmap]]:
    """Yields a descriptor without a page cache and a buffer that fits it."""
    descriptor = os.open(path, os.O_RDWR | os.O_DIRECT)
    try:
        yield descriptor, mmap.mmap(-1, SIZE)
    finally:
        os.close(descriptor)


def numbers(disk: MountedDevice) -> npt.NDArray[np.uint64]:
    """The number in each block of the device; every block holds one number, from its first byte to its last."""
    with direct(disk.block_device) as (descriptor, buffer):
        assert os.preadv(descriptor, [buffer], 0) == SIZE
        words = np.frombuffer(bytes(buffer), dtype=np.uint64).reshape(BLOCKS, -1)
    assert (words == words[:, :1]).all(), "a block is torn"
    return words[:, 0]


class Blocks:
    """The device as it should be: of each block the flushed number and those written since, 0 for a discarded one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.now = np.zeros(BLOCKS, dtype=np.uint64)
        self.flushed = self.now.copy()
        self.later: list[set[int]] = [set() for _ in range(BLOCKS)]
        self.number = 0

    def settle(self, content: npt.NDArray[np.uint64]) -> None:
        self.now, self.flushed = content.copy(), content.copy()
        self.later = [set() for _ in range(BLOCKS)]

    def step(self, descriptor: int, buffer: mmap.mmap) -> None:
        count = self.random.choice([1, 1, 1, 2, 8, 300])
        first = self.random.choice([self.random.randrange(64), self.random.randrange(BLOCKS - count)])
        what = self.random.random()
        if what < 0.15:
            os.fsync(descriptor)
            self.settle(self.now)
            return
        self.number += 1
        number = self.number if what < 0.85 else 0
        if number:
            view = memoryview(buffer)[: count * BLOCK]
            view[:] = struct.pack("<Q", number) * (count * BLOCK // 8)
            assert os.pwritev(descriptor, [view], first * BLOCK) == count * BLOCK
        else:
            fcntl.ioctl(descriptor, BLKDISCARD, struct.pack("=2Q", first * BLOCK, count * BLOCK))
        self.now[first : first + count] = number
        for block in range(first, first + count):
            self.later[block].add(number)


@pytest.mark.parametrize(("keep_share", "seed"), [(0.0, 1), (0.0, 2), (0.4, 3), (0.7, 4), (1.0, 5)])
def test_blocks_are_the_flushed_ones_or_later_ones(keep_share: float, seed: int) -> None:
    blocks, changed, survived = Blocks(seed), 0, 0
    with device.up(FAST, size_bytes=SIZE, file_system=None, floor_ns=0, volatile=True) as disk:
        for cut in range(6):
            with direct(disk.block_device) as io:
                for _ in range(blocks.random.randrange(5, 60)):
                    blocks.step(*io)
            assert (numbers(disk) == blocks.now).all(), "without a cut all is there"
            lost = disk.cut(keep_share, seed=cut)
            content = numbers(disk)
            changed += int((content != blocks.now).sum())
            survived += int((content != blocks.flushed).sum())
            if keep_share == 0:
                assert (content == blocks.flushed).all()
                assert lost.pages_kept == 0
                assert lost.pages_dropped >= int((blocks.flushed != blocks.now).sum())
            if keep_share == 1:
                assert (content == blocks.now).all()
                assert lost.pages_dropped == 0
            wrong = np.flatnonzero(content != blocks.flushed)
            assert all(int(content[block]) in blocks.later[block] for block in wrong)
            assert disk.status().unflushed_pages == 0
            blocks.settle(content)
    assert (changed > 0) == (keep_share < 1), "a cut that does nothing changes nothing"
    assert (survived > 0) == (keep_share > 0)


def test_who_had_the_block_device_open_gets_errors_and_changes_nothing() -> None:
    with (
        device.up(FAST, size_bytes=SIZE, file_system=None, floor_ns=0, volatile=True) as disk,
        direct(disk.block_device) as (old, buffer),
    ):
        buffer[:BLOCK] = struct.pack("<Q", 7) * 512
        page = memoryview(buffer)[:BLOCK]
        os.pwritev(old, [page], 0)
        os.fsync(old)
        assert disk.cut().pages_dropped == 0
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            os.pwritev(old, [page], BLOCK)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            os.preadv(old, [page], 0)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            os.fsync(old)
        assert numbers(disk).nonzero()[0].tolist() == [0]
        assert disk.status().requests_failed > 0
    assert nothing_left(disk.name)


def test_requests_in_the_device_fail_at_once() -> None:
    with device.up(FAST, size_bytes=SIZE, file_system=None, floor_ns=0, volatile=True) as disk:
        disk.set(SLOW, floor_ns=0)
        command = ["fio", "--name=x", "--rw=randwrite", "--bs=4k", "--direct=1", "--ioengine=libaio", "--iodepth=8", "--size=16m"]
        with subprocess.Popen(
            [*command, f"--filename={disk.block_device}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as fio:
            deadline = time.monotonic() + LIMIT_S
            while disk.status().inflight < 8 and time.monotonic() < deadline:
                time.sleep(0.01)
            lost = disk.cut()
            assert fio.wait(LIMIT_S) != 0
        assert lost.requests_failed == 8
        assert lost.pages_dropped == 8
        assert disk.status().inflight == 0
        disk.set(FAST, floor_ns=0)
        assert not numbers(disk).any()


def fio(disk: MountedDevice, *words: str) -> None:
    common = "--name=x --bs=4k --size=8m --direct=1 --ioengine=libaio --iodepth=32"
    checked = "--verify=crc32c --verify_fatal=1 --verify_state_save=0"
    process.run(["fio", *common.split(), *checked.split(), f"--filename={disk.block_device}", *words])


def test_fio_finds_what_it_flushed_and_not_what_it_did_not() -> None:
    with device.up(FAST, size_bytes=SIZE, file_system=None, floor_ns=0, volatile=True) as disk:
        fio(disk, "--rw=randwrite", "--do_verify=0", "--end_fsync=1")
        fio(disk, "--rw=randwrite", "--do_verify=0", "--offset=8m")
        fio(disk, "--rw=randread", "--offset=8m")
        assert disk.cut().pages_dropped == 2048
        fio(disk, "--rw=randread")
        with pytest.raises(TickdiskError, match="fio"):
            fio(disk, "--rw=randread", "--offset=8m")


@pytest.mark.parametrize(("file_system", "size_bytes"), [("ext4", 64 << 20), ("xfs", 320 << 20)])
def test_a_file_system_recovers_and_has_what_was_synced(file_system: str, size_bytes: int) -> None:
    with device.up(FAST, size_bytes=size_bytes, file_system=file_system, floor_ns=0, volatile=True) as disk:
        synced, overwritten, lost = (disk.mount_point / name for name in ("synced", "overwritten", "lost"))
        for keep_share in (0.0, 1.0):
            for path in (synced, overwritten):
                path.write_bytes(b"a" * BLOCK)
            os.sync()
            lost.write_bytes(b"c" * BLOCK)
            with direct(overwritten) as (descriptor, buffer):  # straight into the device's cache, and no further
                buffer[:BLOCK] = b"b" * BLOCK
                os.pwritev(descriptor, [memoryview(buffer)[:BLOCK]], 0)
            cut = disk.cut(keep_share)
            assert synced.read_bytes() == b"a" * BLOCK
            assert overwritten.read_bytes() == (b"a" if keep_share == 0 else b"b") * BLOCK
            assert not lost.exists(), "it was in the page cache only"
            assert cut.users == ()
    assert nothing_left(disk.name)


@pytest.mark.parametrize(
    ("file_system", "size_bytes", "error"),
    [
        ("ext4", 64 << 20, errno.EIO),
        pytest.param("xfs", 320 << 20, errno.EIO, marks=for_release),
        pytest.param("btrfs", 128 << 20, errno.EROFS, marks=for_release),
    ],
)
def test_a_process_with_a_file_open_gets_errors_and_hinders_nobody(
    file_system: str, size_bytes: int, error: int, capfd: pytest.CaptureFixture[str]
) -> None:
    program = "import os, sys; file = open('file', 'wb', 0); print(flush=True); input(); os.fsync(file.fileno())"
    with device.up(FAST, size_bytes=size_bytes, file_system=file_system, floor_ns=0, volatile=True) as disk:
        user = subprocess.Popen(
            [sys.executable, "-c", program], cwd=disk.mount_point, text=True, stdin=-1, stdout=-1, stderr=subprocess.PIPE
        )
        assert user.stdout is not None
        user.stdout.readline()
        old = disk.block_device
        assert disk.cut().users == (user.pid,)
        assert disk.block_device != old
        (disk.mount_point / "new").write_text("tick")
        os.sync()
        assert disk.cut().users == ()
        assert (disk.mount_point / "new").read_text() == "tick"
    said = capfd.readouterr().err
    assert f"loop device {old} from before a power cut" in said
    assert f"(processes: {user.pid})" in said
    assert not nothing_left(disk.name)
    assert os.strerror(error) in user.communicate("\n", timeout=LIMIT_S)[1]
    deadline = time.monotonic() + LIMIT_S
    while not nothing_left(disk.name) and time.monotonic() < deadline:
        device.recover()
        time.sleep(0.1)
    assert nothing_left(disk.name)


def test_a_cut_that_fails_leaves_the_device_its_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: MountedDevice) -> None:
        raise TickdiskError("no loop device is free")

    with device.up(FAST, size_bytes=SIZE, floor_ns=0, volatile=True) as disk:
        disk.set(FAST.with_latency(200_000_000), floor_ns=0)
        number = disk.status().setting
        with monkeypatch.context() as broken, pytest.raises(TickdiskError, match="no loop device"):
            broken.setattr(MountedDevice, "_attach", refuse)
            disk.cut()
        assert disk.status().setting == number + 2, "off, and on again"
        started = time.monotonic()
        with (records.STATE / disk.name / "fuse/disk").open("rb", buffering=0) as file:
            file.read(BLOCK)
        assert time.monotonic() - started >= 0.2
    assert nothing_left(disk.name)


def test_what_is_not_volatile_cannot_be_cut() -> None:
    with device.up(FAST, size_bytes=SIZE, floor_ns=0) as disk:
        assert disk.status().unflushed_pages is None
        with pytest.raises(TickdiskError, match="is not volatile"):
            disk.cut()
        (disk.mount_point / "file").write_text("it goes on")


def test_a_share_is_from_0_to_1_and_nothing_happens_otherwise() -> None:
    with device.up(FAST, size_bytes=SIZE, floor_ns=0, volatile=True) as disk:
        for keep_share in (-0.1, 1.1, float("nan")):
            with pytest.raises(TickdiskError, match="is not from 0 to 1"):
                disk.cut(keep_share)
        (disk.mount_point / "file").write_text("it goes on")


@pytest.mark.parametrize("after_s", [0.0, 0.02])
def test_the_emulator_is_killed_during_a_cut(after_s: float) -> None:
    with device.up(FAST, size_bytes=64 << 20, floor_ns=0, volatile=True) as disk:
        (disk.mount_point / "file").write_bytes(os.urandom(8 << 20))
        timer = threading.Timer(after_s, os.kill, (disk.daemon_pid, signal.SIGKILL))
        timer.start()
        with suppress(TickdiskError):
            disk.cut()
        timer.join()
        with pytest.raises(TickdiskError, match="does not answer"):
            disk.cut()
    assert nothing_left(disk.name)


@pytest.mark.parametrize("after_s", [0.0, 0.1])
def test_the_owner_is_killed_during_a_cut(after_s: float) -> None:
    name = f"cutter-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", CUTTER, name], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        time.sleep(after_s)
        owner.kill()
    device.recover()
    assert nothing_left(name)


def test_by_hand(tmp_path: Path) -> None:
    name = f"hand-{os.getpid()}"

    def tickdisk(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([TICKDISK, "device", *words], capture_output=True, text=True, check=False, cwd=tmp_path)

    devices = f"--devices={ROOT / 'data/devices.yaml'}"
    nothing = tickdisk("cut")
    assert (nothing.returncode, nothing.stderr) == (2, "tickdisk: no device is mounted; `tickdisk device up hdd` mounts one\n")
    up = tickdisk("up", "nvme_ssd", "--size=64M", f"--name={name}", "--volatile", devices)
    assert up.returncode == 0, up.stderr
    mount_point = records.STATE / name / "fs"
    (mount_point / "synced").write_text("tick")
    os.sync()
    (mount_point / "lost").write_text("tick")
    cut = tickdisk("cut", "--keep=0.3", "--seed=7")
    assert cut.stdout.startswith(f"{name}: "), cut.stderr
    assert f"mounted again at {mount_point}, block device /dev/loop" in cut.stdout
    assert [path.name for path in mount_point.iterdir() if path.is_file()] == ["synced"]
    assert tickdisk("down").stdout == f"{name}: gone\n"
    assert nothing_left(name)
