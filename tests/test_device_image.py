"""Images of power cuts: each is what a cut at its time would leave, and the device and its users go on as without it."""

import mmap
import os
import platform
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import BIN, for_release
from cut_promises import check_file_system, missing, read_promises

from tickdisk import device
from tickdisk.device import CutImage, DeviceModel, MountedDevice
from tickdisk.device import record as records
from tickdisk.foundation import memory
from tickdisk.foundation.errors import TickdiskError

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]
ROOT = Path(__file__).parent.parent
SIZE, BLOCK, LIMIT_S = 16 << 20, 4096, 30
SHARES = (0.0, 0.3, 0.0, 0.8, 1.0)
FAST = DeviceModel(name="fast", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)
MODEL = DeviceModel(
    name="cut",
    read_latency_ns=20_000,
    write_latency_ns={"median_ns": 200_000, "p99_ns": 2_000_000},
    flush_latency_ns={"median_ns": 1_000_000, "p99_ns": 5_000_000},
)
since_linux_6_7 = pytest.mark.skipif(
    tuple(int(word) for word in platform.release().split("-")[0].split(".")[:2]) < (6, 7),
    reason="an older kernel does not mount a btrfs beside its image",
)
CLIENT = """
import sys
from pathlib import Path
from tickdisk import device
device.attach(sys.argv[1]).image_of_cut(Path(sys.argv[2]))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for images, in memory."""
    with memory.folder() as path:
        yield path


@contextmanager
def saving(folder: Path, acknowledged: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Yields a program that saves and that has promised something."""
    acknowledged.touch()
    command = [sys.executable, Path(__file__).with_name("cut_writer.py"), folder, "1", acknowledged]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as writer:
        try:
            deadline = time.monotonic() + LIMIT_S
            while acknowledged.stat().st_size == 0 and time.monotonic() < deadline:
                time.sleep(0.005)
            yield writer
        finally:
            writer.kill()


@pytest.mark.parametrize(
    ("file_system", "size_bytes", "images"),
    [
        ("ext4", 256 << 20, 5),
        pytest.param("xfs", 320 << 20, 3, marks=for_release),
        pytest.param("btrfs", 256 << 20, 3, marks=[for_release, since_linux_6_7]),
    ],
)
def test_an_image_has_what_fsync_promised_and_the_program_goes_on(
    file_system: str, size_bytes: int, images: int, tmp_path: Path, folder: Path
) -> None:
    draw, acknowledged = random.Random(file_system), tmp_path / "acknowledged"  # noqa: S311
    taken: list[CutImage] = []
    with (
        device.up(MODEL, size_bytes=size_bytes, file_system=file_system, floor_ns=0, volatile=True) as disk,
        device.up(FAST, size_bytes=size_bytes, file_system=file_system, floor_ns=0) as other,
    ):
        with saving(disk.mount_point, acknowledged) as writer:
            for number in range(images):
                time.sleep(draw.uniform(0, 0.4))
                taken.append(disk.image_of_cut(folder / str(number), keep_share=SHARES[number], seed=number))
                assert sorted(path.name for path in folder.glob("[!.]*")) == [str(n) for n in range(number + 1)]
            time.sleep(0.1)
            assert writer.poll() is None, "it goes on"
            writer.kill()
            assert writer.communicate()[1] == b"", "none of its threads got an error"
        lines = acknowledged.read_text().splitlines()
        counts = []
        for image in taken:
            other.restore(image.path)
            count, last = read_promises(lines, 0, image.cut_ns)
            assert missing(other.mount_point, last) == 0, image
            counts.append(count)
            if file_system == "ext4":
                check_file_system(other)
            (other.mount_point / "new").write_text("tick")
        assert counts == sorted(counts)
        assert 0 < counts[0] < counts[-1] < len(lines), "programs saved before, between and after the images"
        assert missing(disk.mount_point, read_promises(lines, 0, 1 << 63)[1]) == 0
        if file_system == "ext4":
            check_file_system(disk)
    assert sum(image.pages_dropped for image in taken) > 0, "images that drop nothing prove nothing"


def write(disk: MountedDevice, byte: int, blocks: range, *, flush: bool, block_bytes: int = BLOCK) -> None:
    descriptor, buffer = os.open(disk.block_device, os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, block_bytes)
    buffer[:] = bytes([byte]) * block_bytes
    for block in blocks:
        os.pwritev(descriptor, [buffer], block * block_bytes)
    if flush:
        os.fsync(descriptor)
    os.close(descriptor)


def content(disk: MountedDevice) -> bytes:
    descriptor, buffer = os.open(disk.block_device, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, SIZE)
    assert os.preadv(descriptor, [buffer], 0) == SIZE
    os.close(descriptor)
    return buffer[:]


@pytest.mark.parametrize("is_volatile", [False, True])
def test_an_image_is_the_disk_after_a_cut(folder: Path, *, is_volatile: bool) -> None:
    options = {"size_bytes": SIZE, "file_system": None, "floor_ns": 0}
    with device.up(FAST, **options, volatile=True) as disk, device.up(FAST, **options, volatile=is_volatile) as other:  # type: ignore[arg-type]
        write(disk, 1, range(1000), flush=True)
        write(disk, 2, range(500, 1500), flush=False)
        before = content(disk)
        flushed = bytes([1]) * (1000 * BLOCK) + bytes(SIZE - 1000 * BLOCK)
        images = {share: disk.image_of_cut(folder / f"{share}", keep_share=share, seed=7) for share in (0.0, 0.5, 1.0)}
        assert content(disk) == before
        write(other, 9, range(3000, 3010), flush=False)
        other.restore(images[0.0].path)
        assert content(other) == flushed
        other.restore(images[1.0].path)
        assert content(other) == before, "all that had reached the device survives"
        assert [images[share].pages_dropped for share in (0.0, 1.0)] == [1000, 0]
        assert images[0.0].path.stat().st_blocks * 512 == 1000 * BLOCK, "pages that were never written are holes"
        cut = disk.cut(0.5, seed=7)
        other.restore(images[0.5].path)
        assert content(other) == content(disk) not in (before, flushed)
        assert (images[0.5].pages_dropped, images[0.5].pages_kept) == (cut.pages_dropped, cut.pages_kept)
        assert images[0.5].cut_ns < cut.cut_ns
        if is_volatile:
            assert other.status().unflushed_pages == 0, "all of it is durable"  # type: ignore[attr-defined]
            write(other, 3, range(20), flush=False)
            other.cut()
            assert content(other) == content(disk)


def test_a_restored_device_is_as_slow_as_before(folder: Path) -> None:
    with device.up(FAST, size_bytes=SIZE, floor_ns=0, volatile=True) as disk:
        (disk.mount_point / "file").write_text("tick")
        os.sync()
        image = disk.image_of_cut(folder / "image").path
        (disk.mount_point / "later").write_text("tick")
        disk.set(FAST.with_latency(20_000_000), floor_ns=0)
        disk.restore(image)
        assert [path.name for path in disk.mount_point.iterdir() if path.is_file()] == ["file"]
        started = time.monotonic()
        content(disk)
        assert time.monotonic() - started >= 0.02
        disk.remount()
        assert (disk.mount_point / "file").read_text() == "tick"


def test_a_device_answers_other_orders_while_an_image_is_written(folder: Path) -> None:
    # So much takes far longer to write than a device takes to go down.
    with device.up(FAST, size_bytes=1 << 30, file_system=None, floor_ns=0, volatile=True) as disk:
        write(disk, 1, range(1024), flush=False, block_bytes=1 << 20)
        first, seen = disk.emulator_status(), 0
        thread = threading.Thread(target=disk.image_of_cut, args=(folder / "image",), kwargs={"keep_share": 1.0})
        thread.start()
        while thread.is_alive():
            now = disk.emulator_status()
            assert now.cpu_ns_by_thread.keys() == first.cpu_ns_by_thread.keys(), "the writer of the image is not the device"
            seen += bool(list(folder.glob("*.partial")))
        assert seen > 0
        assert (folder / "image").stat().st_blocks * 512 == 1 << 30

        def fail() -> None:
            with pytest.raises(TickdiskError, match=r"the device ended before the image was whole|the emulator ended"):
                disk.image_of_cut(folder / "second", keep_share=1.0)

        thread = threading.Thread(target=fail)
        thread.start()
        while not list(folder.glob("*.partial")):
            time.sleep(0.001)
        time.sleep(0.01)
    thread.join(LIMIT_S)
    assert not (folder / "second").exists()
    assert not list(records.STATE.glob("*"))
    assert not list(folder.glob("*.partial"))


@pytest.mark.parametrize("who", ["client", "emulator"])
def test_nothing_is_left_of_an_image_whose_client_or_emulator_is_killed(who: str, folder: Path) -> None:
    name, models = f"image-{os.getpid()}", f"--devices={ROOT / 'data/devices.yaml'}"
    command = [BIN / "tickdisk", "device", "up", "memory", "--size=256M", f"--name={name}", "--volatile", models]
    subprocess.run(command, check=True, capture_output=True)
    disk = device.attach(name)
    try:
        (disk.mount_point / "file").write_bytes(os.urandom(150 << 20))
        os.sync()
        with subprocess.Popen([sys.executable, "-c", CLIENT, disk.name, folder / "image"], stderr=subprocess.PIPE) as client:
            deadline = time.monotonic() + LIMIT_S
            while not list(folder.glob(".image.*")) and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.02)
            os.kill(client.pid if who == "client" else disk.daemon_pid, signal.SIGKILL)
            said = client.communicate(timeout=LIMIT_S)[1].decode()
        assert who == "client" or "the emulator" in said, said
        while list(folder.glob(".image.*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [path.name for path in folder.iterdir()] == [".lock"]
        if who == "client":
            (disk.mount_point / "file").read_bytes()
            assert disk.image_of_cut(folder / "image").path.stat().st_size == 256 << 20
    finally:
        disk.down()
    assert not list(records.STATE.glob("*"))


def test_wrong_orders_change_nothing(folder: Path) -> None:
    with (
        device.up(FAST, size_bytes=SIZE, floor_ns=0, volatile=True) as disk,
        device.up(FAST, size_bytes=2 * SIZE, floor_ns=0) as other,
        device.up(FAST, backend="tree", floor_ns=0) as tree,
    ):
        for keep_share in (-0.1, 1.1, float("nan")):
            with pytest.raises(TickdiskError, match="is not from 0 to 1"):
                disk.image_of_cut(folder / "image", keep_share=keep_share)
        with pytest.raises(TickdiskError, match="is not volatile"):
            other.image_of_cut(folder / "image")
        with pytest.raises(TickdiskError, match="of backend tree has no power to cut; take backend fuse"):
            tree.image_of_cut(folder / "image")
        with pytest.raises(TickdiskError, match="cannot write"):
            disk.image_of_cut(Path("/proc/image"))
        assert [path.name for path in folder.iterdir()] == [".lock"]
        image = disk.image_of_cut(folder / "image").path
        with pytest.raises(TickdiskError, match="of backend tree has no power to cut"):
            tree.restore(image)
        with pytest.raises(TickdiskError, match=f"has {SIZE} bytes, and device {other.name} has {2 * SIZE}; bring up"):
            other.restore(image)
        with pytest.raises(TickdiskError, match=r"cannot read the image .*: No such file"):
            disk.restore(folder / "another")
        (disk.mount_point / "image").write_bytes(bytes(SIZE // 4))
        os.truncate(disk.mount_point / "image", SIZE)
        with pytest.raises(TickdiskError, match=f"is in use by process {os.getpid()}"):
            disk.restore(disk.mount_point / "image")
        for mounted in (disk, other):
            (mounted.mount_point / "file").write_text("it goes on")
            mounted.remount()
            assert (mounted.mount_point / "file").read_text() == "it goes on"


def test_an_image_that_is_no_file_system_is_an_error_and_the_device_goes_down(folder: Path) -> None:
    with device.up(FAST, size_bytes=SIZE, floor_ns=0) as disk:
        with (folder / "image").open("wb") as file:
            file.truncate(SIZE)
        with pytest.raises(TickdiskError, match="cannot mount"):
            disk.restore(folder / "image")
    assert not list(records.STATE.glob("*"))
