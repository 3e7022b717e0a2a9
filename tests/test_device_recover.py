"""Whatever dies, users of the device get an error soon, and the next start finds and leaves nothing."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import BIN, for_release, with_own_mounts

from tickdisk import device
from tickdisk.device import record as records
from tickdisk.device.loop import LoopDevice, detach, is_ours
from tickdisk.device.record import DeviceRecord
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]
SIZE = 64 << 20
LIMIT_S = 30
SLOW = device.DeviceModel(name="slow", read_latency_ns=400_000_000, write_latency_ns=400_000_000, flush_latency_ns=400_000_000)
FAST = SLOW.unlimited()
USER = """
import mmap, os, sys
file, buffer = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
print("reading", flush=True)
try:
    while True:
        os.preadv(file, [buffer], 0)
except OSError as error:
    sys.exit(error.errno)
"""
OWNER = """
import signal, subprocess, sys, time
from pathlib import Path
from tickdisk import device
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as the command line does
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell would ignore it
model = device.DeviceModel(name="slow", read_latency_ns=400_000_000, write_latency_ns=400_000_000, flush_latency_ns=400_000_000)
with device.up(model.unlimited(), size_bytes=64 << 20, floor_ns=0, name=sys.argv[1], logs=Path(sys.argv[2])) as disk:
    (disk.mount_point / "file").write_bytes(bytes(1 << 20))
    sleeper = subprocess.Popen(["sleep", "1000"], cwd=disk.mount_point, stdout=subprocess.DEVNULL)
    disk.add_user(sleeper.pid)
    disk.set(model, floor_ns=0)
    print(disk.block_device, disk.daemon_pid, sleeper.pid, flush=True)
    time.sleep(1000)
"""


@contextmanager
def reading(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Yields a process that reads `path` without a page cache until it gets an error, which is then its exit code."""
    user = subprocess.Popen([sys.executable, "-c", USER, path], stdout=subprocess.PIPE, text=True)
    assert user.stdout is not None
    assert user.stdout.readline() == "reading\n"
    time.sleep(0.2)  # well into its first read
    try:
        yield user
    finally:
        user.kill()
        user.communicate()


@contextmanager
def own_loop(folder: Path) -> Iterator[tuple[int, str]]:
    """Yields number and mark of a loop device that has nothing to do with the emulator."""
    (folder / "image").write_bytes(bytes(1 << 20))
    mark = f"unrelated-{os.getpid()}"
    loop = LoopDevice(folder / "image", mark)
    try:
        yield loop.number, mark
    finally:
        loop.close()
        assert detach(loop.number, mark, 5)


def nothing_left(name: str) -> bool:
    mark = f"tickdisk:{name}"
    mounts = Path("/proc/self/mountinfo").read_text()
    loops = [int(path.parent.name.removeprefix("loop")) for path in Path("/sys/block").glob("loop*/loop")]
    return mark not in mounts and not any(is_ours(loop, mark) for loop in loops) and not list(records.STATE.glob(f"{name}*"))


def test_an_exception_leaves_nothing() -> None:
    with pytest.raises(ZeroDivisionError), device.up(FAST, size_bytes=SIZE, floor_ns=0) as disk:
        raise ZeroDivisionError
    assert nothing_left(disk.name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    name = f"signal-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", OWNER, name, tmp_path], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        _, daemon, sleeper = owner.stdout.readline().split()
        owner.send_signal(number)
        try:
            assert owner.wait(LIMIT_S) != 0
        finally:
            owner.kill()
    assert nothing_left(name)
    assert ProcessIdentity.of(int(daemon)) is None
    assert ProcessIdentity.of(int(sleeper)) is None


def test_a_named_folder_of_records_keeps_its_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "STATE", tmp_path / "there")
    monkeypatch.setenv("TICKDISK_STATE", str(records.STATE))
    for is_new, mode in ((True, 0o711), (False, 0o755)):
        if not is_new:
            records.STATE.mkdir()
            records.STATE.chmod(mode)
        DeviceRecord.new("one", SIZE, "ext4", None).create()
        assert records.STATE.stat().st_mode & 0o777 == mode
        shutil.rmtree(records.STATE)


def test_a_start_leaves_the_files_of_another_device_alone() -> None:
    name = f"start-{os.getpid()}"
    records.STATE.mkdir(parents=True, exist_ok=True)
    own, other = (records.STATE / f".{device_name}.123.new" for device_name in (name, f"{name}.more"))
    record = DeviceRecord.new(name, SIZE, "ext4", None)
    try:
        for path in (own, other):
            path.touch()
        record.create()
        assert (own.exists(), other.exists()) == (False, True)
    finally:
        other.unlink(missing_ok=True)
        record.remove()


@pytest.mark.parametrize("way", ["down", "killed"])
def test_a_mount_point_is_found_again_from_any_folder(way: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    name, mount_point = f"at-{way}-{os.getpid()}", tmp_path / "there/mnt"
    program = Path(sys.executable).parent / "tickdisk"

    def tickdisk(where: Path, *words: str) -> str:
        command = [program, "device", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=where).stdout

    devices = f"--devices={Path(__file__).parent.parent / 'data/devices.yaml'}"
    try:
        said = tickdisk(tmp_path, "up", "memory", f"--name={name}", "--size=64M", "--at=link/mnt", devices)
        assert said == f"{mount_point.resolve()}\n", "the mount point alone, for a command line that goes there"
        assert mount_point.is_mount()
        if way == "killed":
            daemon_pid, deadline = device.attach(name).daemon_pid, time.monotonic() + LIMIT_S
            os.kill(daemon_pid, signal.SIGKILL)
            while ProcessIdentity.of(daemon_pid) is not None and time.monotonic() < deadline:
                time.sleep(0.05)
            assert any("file system" in line for line in device.recover())
        else:
            assert tickdisk(Path("/"), "down") == f"{name}: gone\n"
    finally:
        for left in records.records():
            device.attach(left.name).down()
    assert not mount_point.is_mount()
    assert nothing_left(name)
    assert (tmp_path / "there").is_dir(), "what was there stays"


@pytest.mark.parametrize("name", ["a/b", "../x", "a b", "a#b", ".a", "", "x" * 55, "größe"])
def test_a_name_that_could_not_be_found_again_is_refused(name: str) -> None:
    with pytest.raises(TickdiskError, match="a name is a letter or digit, then at most 53"):
        DeviceRecord.new(name, SIZE, "ext4", None)


def test_a_device_with_the_longest_name_is_found_again() -> None:
    name = "x" * 54
    with device.up(FAST, size_bytes=SIZE, floor_ns=0, name=name) as disk:
        assert is_ours(int(disk.block_device.name.removeprefix("loop")), f"tickdisk:{name}")
        os.kill(disk.daemon_pid, signal.SIGKILL)
    assert nothing_left(name)


def test_the_emulator_survives_who_speaks_otherwise() -> None:
    with device.up(FAST, size_bytes=SIZE, floor_ns=0) as disk:
        for said in (b"{", b"nothing\n", b"{}\n", b'{"do": "set"}\n', b"[]\n"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
                other.connect(str(records.STATE / disk.name / "control"))
                other.sendall(said)
        assert disk.status().inflight == 0


def test_the_emulator_is_killed() -> None:
    with device.up(FAST, size_bytes=SIZE, floor_ns=0) as disk:
        (disk.mount_point / "file").write_bytes(bytes(1 << 20))
        disk.set(SLOW, floor_ns=0)
        with reading(disk.mount_point / "file") as user:
            os.kill(disk.daemon_pid, signal.SIGKILL)
            assert user.wait(LIMIT_S) != 0
            with pytest.raises(TickdiskError, match="does not answer"):
                disk.status()
    assert nothing_left(disk.name)


def test_the_emulator_hangs() -> None:
    with device.up(FAST, size_bytes=SIZE, file_system=None, floor_ns=0) as disk, reading(disk.block_device) as user:
        os.kill(disk.daemon_pid, signal.SIGSTOP)  # its requests are now in uninterruptible sleep
        started = time.monotonic()
        disk.down()
        assert user.wait(LIMIT_S) != 0
        assert time.monotonic() - started < LIMIT_S
    assert nothing_left(disk.name)


@for_release
def test_somebody_we_were_not_told_of_keeps_nothing_but_errors(capfd: pytest.CaptureFixture[str]) -> None:
    log = records.STATE / "log"
    with device.up(FAST, size_bytes=SIZE, floor_ns=0, log_path=log) as disk:
        (disk.mount_point / "file").write_bytes(bytes(1 << 20))
        os.sync()
        seen = sum(disk.status().requests.values())
        stranger = subprocess.Popen(["sleep", "1000"], cwd=disk.mount_point)
    try:
        assert f"still in use: loop device {disk.block_device} (processes: {stranger.pid})" in capfd.readouterr().err
        assert stranger.poll() is None
        assert device.read_log(log).num_rows >= seen
        assert device.recover() == []
    finally:
        stranger.kill()
        stranger.wait()
    deadline = time.monotonic() + LIMIT_S
    while not nothing_left(disk.name) and time.monotonic() < deadline:
        device.recover()  # the kernel lets go of the loop device a moment after the stranger's end
        time.sleep(0.1)
    assert nothing_left(disk.name)


def test_the_owner_is_killed(tmp_path: Path) -> None:
    name = f"owner-{os.getpid()}"
    with own_loop(tmp_path) as (unrelated, mark), device.up(FAST, size_bytes=SIZE, floor_ns=0) as living:
        owner = subprocess.Popen([sys.executable, "-c", OWNER, name, tmp_path], stdout=subprocess.PIPE, text=True)
        assert owner.stdout is not None
        block_device, daemon, sleeper = owner.stdout.readline().split()
        assert device.recover() == []
        with reading(Path(block_device)) as user:
            owner.kill()
            owner.communicate()
            assert user.wait(LIMIT_S) != 0
        removed = device.recover()
        assert f"{name}: process {sleeper}, which used it" in removed
        assert f"{name}: file system at {records.STATE / name / 'fs'}" in removed
        assert nothing_left(name)
        assert ProcessIdentity.of(int(daemon)) is None
        assert ProcessIdentity.of(int(sleeper)) is None
        assert is_ours(unrelated, mark)
        assert living.status().inflight == 0
    assert nothing_left(living.name)


def test_only_what_a_record_really_means_is_touched(tmp_path: Path) -> None:
    name = f"record-{os.getpid()}"
    bystander = subprocess.Popen(["sleep", "1000"])
    identity = ProcessIdentity.of(bystander.pid)
    assert identity is not None
    reused = ProcessIdentity(pid=identity.pid, started=identity.started - 1)
    try:
        with own_loop(tmp_path) as (unrelated, mark):
            record = DeviceRecord.new(name, SIZE, "ext4", None)
            record.daemon, record.loop, record.users = reused, unrelated, [reused]
            record.save()
            assert device.recover() == [], "its owner, this process, is alive"
            record.owner = reused
            record.save()
            assert device.recover() == [f"{name}: its record"]
            assert is_ours(unrelated, mark)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert nothing_left(name)


def test_a_record_of_an_earlier_boot_is_only_a_record() -> None:
    record = DeviceRecord.new(f"boot-{os.getpid()}", SIZE, "ext4", None)
    record.boot_id = "another"
    record.save()
    assert device.recover() == [f"{record.name}: its record"]


def test_a_broken_record_is_named() -> None:
    path = records.STATE / f"broken-{os.getpid()}.json"
    path.write_text(json.dumps({"name": "broken"}))
    try:
        with pytest.raises(TickdiskError, match=str(path)):
            device.recover()
    finally:
        path.unlink()


@for_release
def test_all_commands_agree_on_a_device_that_another_namespace_holds() -> None:
    def call(*words: str) -> tuple[int, str]:
        done = subprocess.run([BIN / "tickdisk", "device", *words], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout + done.stderr

    name = f"held-{os.getpid()}"
    assert call("up", "plain_disk", "--size", "64M", "--name", name)[0] == 0
    holder = subprocess.Popen([*with_own_mounts(), "sleep", "1000"])
    try:
        while Path(f"/proc/{holder.pid}/ns/mnt").stat().st_ino == Path("/proc/self/ns/mnt").stat().st_ino:
            time.sleep(0.01)
        said = [call(*words) for words in (("down",), ("status",), ("stall", "5"), ("set", "hdd"), ("recover",), ("down", name))]
        said.append(call("up", "plain_disk", "--size", "64M", "--name", name))
    finally:
        holder.kill()
        holder.wait()
    for code, text in said:
        assert code in (1, 2), text
        assert f"{name}: down, but still in use: loop device /dev/loop" in text
        assert f"(processes: {holder.pid}); when they have closed it, `tickdisk device recover` removes the rest" in text
        assert "nothing was left" not in text
    code, text = call("recover")
    assert code == 0, text
    assert nothing_left(name)
    assert call("recover") == (0, "nothing was left\n")
