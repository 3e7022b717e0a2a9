"""What may be measured, and what may be written to: refusals, and that nothing is left of what was made."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import BIN

from tickdisk.foundation.errors import TickdiskError
from tickdisk.profile import empty, profile, source
from tickdisk.profile.measure import FIT_DEPTHS, HELD_OUT_DEPTHS, rounds

_JOBS = len((*FIT_DEPTHS, *HELD_OUT_DEPTHS)) + 1
"""A round of a profile: each depth, and sequential reads."""

SIZE = 32 << 20
Attach = Callable[[Path], Path]


def taken(path: Path, *, write: bool, size_bytes: int = SIZE) -> None:
    with source(path, write=write, size_bytes=size_bytes):
        pass


@pytest.fixture
def attach() -> Iterator[Attach]:
    """Gives loop devices on files, and detaches them."""
    made: list[str] = []

    def one(file: Path) -> Path:
        done = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True, check=True)
        made.append(done.stdout.strip())
        return Path(made[-1])

    yield one
    for path in made:
        subprocess.run(["losetup", "--detach", path], check=True)


@pytest.fixture
def blank(tmp_path: Path) -> Path:
    file = tmp_path / "blank"
    file.write_bytes(bytes(SIZE))
    return file


def test_a_folder_gets_a_file_without_a_name(tmp_path: Path) -> None:
    with source(tmp_path, write=True, size_bytes=SIZE) as found:
        assert found.kind == "folder"
        assert (found.target.path.stat().st_size, found.target.size_bytes) == (SIZE, SIZE)
        assert found.target.path.stat().st_blocks * 512 >= SIZE
        assert list(tmp_path.iterdir()) == []
        path = found.target.path
    assert not path.exists()


def test_a_folder_without_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"MiB free, .*do not fit; give a smaller --size or free space"):
        taken(tmp_path, write=False, size_bytes=1 << 50)
    room = os.statvfs(tmp_path)
    free_bytes = room.f_bavail * room.f_frsize
    with pytest.raises(TickdiskError, match="do not fit"):  # it would, with nothing to spare
        taken(tmp_path, write=False, size_bytes=free_bytes - (64 << 20))
    with pytest.raises(TickdiskError, match="give --size 16M or more"):
        taken(tmp_path, write=False, size_bytes=1 << 20)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_read_and_never_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(SIZE))
    with source(file, write=False, size_bytes=0) as found:
        assert (found.kind, found.target.size_bytes) == ("file", SIZE)
    with pytest.raises(TickdiskError, match="a file with contents, which --write would overwrite; give its folder"):
        taken(file, write=True)
    os.truncate(file, 4 * SIZE)
    with pytest.raises(TickdiskError, match="has holes"):
        taken(file, write=False)
    kept = tmp_path / "kept"
    with kept.open("wb") as room:
        os.posix_fallocate(room.fileno(), 0, SIZE)
    with pytest.raises(TickdiskError, match="room that was never written"):
        taken(kept, write=False)
    file.write_bytes(bytes(4096))
    with pytest.raises(TickdiskError, match="less than 16 MiB"):
        taken(file, write=False)


def test_what_is_no_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"/dev/shm is in memory \(tmpfs\); give a folder on a disk"):
        taken(Path("/dev/shm"), write=False)
    with pytest.raises(TickdiskError, match="No such file"):
        taken(tmp_path / "nothing", write=False)
    with pytest.raises(TickdiskError, match="neither a folder nor a file nor a block device"):
        taken(Path("/dev/null"), write=False)


@pytest.mark.live
def test_an_empty_block_device_is_claimed_while_it_is_written_to(blank: Path, attach: Attach) -> None:
    path = attach(blank)
    with source(path, write=True, size_bytes=0) as found:
        assert (found.kind, found.target.path, found.target.size_bytes) == ("block device", path, SIZE)
        with pytest.raises(OSError, match="busy"):
            os.open(path, os.O_RDONLY | os.O_EXCL)
        with pytest.raises(TickdiskError, match=r"cannot be opened for writing \(.*busy\)"):
            taken(path, write=True)
        taken(path, write=False)
    os.close(os.open(path, os.O_RDONLY | os.O_EXCL))


@pytest.mark.live
def test_a_block_device_with_a_file_system_is_not_written_to(tmp_path: Path, blank: Path, attach: Attach) -> None:
    subprocess.run(["mkfs.ext4", "-q", blank], check=True)
    before, path = blank.read_bytes(), attach(blank)
    with pytest.raises(TickdiskError, match=r"is not empty, but has ext4 at 0x438: --write would destroy"):
        taken(path, write=True)
    taken(path, write=False)
    mount_point = tmp_path / "mounted"
    mount_point.mkdir()
    subprocess.run(["mount", "-o", "ro,noload", path, mount_point], check=True)
    try:
        with pytest.raises(TickdiskError, match=f"is mounted at {mount_point}"):
            taken(path, write=True)
    finally:
        subprocess.run(["umount", mount_point], check=True)
    assert blank.read_bytes() == before


@pytest.mark.live
def test_a_block_device_with_partitions_or_swap_is_not_written_to(
    blank: Path, attach: Attach, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = bytearray(512)
    record[446:462] = bytes([0, 0, 2, 0, 0x83, 0, 2, 0]) + (8).to_bytes(4, "little") + (1000).to_bytes(4, "little")
    record[510:] = b"\x55\xaa"
    with blank.open("r+b") as file:
        file.write(record)
    path = attach(blank)
    with pytest.raises(TickdiskError, match="is not empty, but has dos at 0x1fe"):
        taken(path, write=True)
    with blank.open("r+b") as file:
        file.write(bytes(512))
    taken(path, write=True)
    monkeypatch.setattr(empty, "_swaps", lambda: {path.stat().st_rdev})  # swapon would be the machine's business
    with pytest.raises(TickdiskError, match="is swap"):
        taken(path, write=True)


@pytest.mark.live
def test_a_block_device_that_is_read_only_is_not_written_to(blank: Path, attach: Attach) -> None:
    path = attach(blank)
    subprocess.run(["blockdev", "--setro", path], check=True)
    with pytest.raises(TickdiskError, match="is read-only"):
        taken(path, write=True)
    subprocess.run(["blockdev", "--setrw", path], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_who_is_interrupted_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    folder, output = tmp_path / "disk", tmp_path / "mine.yaml"
    folder.mkdir()
    command = [BIN / "tickdisk", "device", "profile", folder, "-o", output, "--seconds", "30", "--size", "32M", "--no-write"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"round 1 of {rounds(30)}: {_JOBS} jobs, at least")
        deadline = time.monotonic() + 10
        while not (children := Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        code = process.wait(20)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert list(folder.iterdir()) == []
    assert not output.exists()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{children[0]}/exe").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_where_the_profile_goes_is_looked_at_before_the_disk_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(TickdiskError, match=r"cannot be written, as .*file is no folder"):
        profile(tmp_path / "nothing", file / "deeper" / "mine.yaml", write=False, seconds=1, size_bytes=SIZE)


def test_a_device_s_file_has_its_ending(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"a device's file ends with .yaml"):
        profile(tmp_path, tmp_path / "mine.json", write=False, seconds=1, size_bytes=SIZE)
