"""A tree: the same as an ordinary folder to its users, the same as a disk to its log, and gone whoever dies."""

import ctypes
import errno
import mmap
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from conftest import for_release, with_own_mounts

from tickdisk import device
from tickdisk.device import DeviceModel, backing
from tickdisk.device import record as records
from tickdisk.device.record import DeviceRecord
from tickdisk.foundation import memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]
FAST = DeviceModel(name="fast", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)
SLOW = DeviceModel(name="slow", read_latency_ns=300_000, write_latency_ns=400_000, flush_latency_ns=500_000, discard_latency_ns=9)
LIMIT_S = 30
PUNCH_HOLE, KEEP_SIZE = 2, 1
libc = ctypes.CDLL(None, use_errno=True)
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
import sys, time
from pathlib import Path
from tickdisk import device
model = device.DeviceModel(name="fast", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)
with device.up(model, backend="tree", floor_ns=0, name=sys.argv[1], logs=Path(sys.argv[2])) as disk:
    (disk.mount_point / "file").write_bytes(bytes(1 << 20))
    print(disk.daemon_pid, flush=True)
    time.sleep(1000)
"""
NOBODY = """
import os
from pathlib import Path
from tickdisk import device
assert os.geteuid() == 65534
model = device.DeviceModel(name="slow", read_latency_ns=20_000_000, write_latency_ns=0, flush_latency_ns=0)
with device.up(model.unlimited(), floor_ns=0) as disk:
    path = disk.mount_point / "file"
    path.write_bytes(b"tick" * 4096)
    disk.remount()
    setting = disk.set(model, floor_ns=0)
    assert path.read_bytes() == b"tick" * 4096
    assert path.stat().st_uid == 65534
    disk.set(model.unlimited(), floor_ns=0)
    reads = disk.status().requests["read"]
    where = disk.mount_point
left = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(where) in line]
made = [*Path("/dev/shm").glob(f"tickdisk_{disk.name}*"), *where.parents[1].glob("*")]
print(disk.backend.name, reads > 0, left, where.exists(), made)
"""


def nothing_left(name: str) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text()
    there = [*records.STATE.glob(f"{name}*"), *memory.MEMORY.glob(f"tickdisk_{name}_*")]
    return f"tickdisk:{name}" not in mounts and not there


def test_the_log_has_a_row_for_every_request_that_reaches_the_tree(tmp_path: Path) -> None:
    log, rng, size = tmp_path / "device.log", np.random.default_rng(5), 8 << 20
    made: list[tuple[str, int, int]] = []
    with device.up(FAST, backend="tree", floor_ns=0, log_path=log) as disk:
        path, content = disk.mount_point / "file", bytearray(rng.bytes(size))
        path.write_bytes(content)
        disk.remount()
        setting = disk.set(SLOW, floor_ns=0)
        descriptor, buffer = os.open(path, os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, 1 << 16)
        for _ in range(200):
            length = int(rng.choice([512, 4096, 16384, 65536]))
            offset = int(rng.integers((size - length) // 4096)) * 4096
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
                    os.fdatasync(descriptor)
                    made.append(("flush", 0, 0))
                case 3:
                    length = max(length, 4096)
                    arguments = (ctypes.c_int(PUNCH_HOLE | KEEP_SIZE), ctypes.c_int64(offset), ctypes.c_int64(length))
                    assert libc.fallocate(descriptor, *arguments) == 0
                    content[offset : offset + length] = bytes(length)
                    made.append(("discard", offset, length))
        os.close(descriptor)
        disk.set(FAST, floor_ns=0)
        status = disk.status()
        assert path.read_bytes() == content
    everything = device.read_log(log).to_pandas()
    seen = everything[everything["setting"] == setting.number]
    assert [tuple(row) for row in seen[["op", "offset", "length"]].itertuples(index=False)] == made
    assert (status.log_overflow, status.inflight) == (0, 0)
    nominal = dict(zip(device.OPS, SLOW.latency_ns, strict=True))
    assert (seen["nominal_ns"] - seen["arrival_ns"]).tolist() == [nominal[op] for op in seen["op"]]
    assert (seen["replied_ns"] >= seen["nominal_ns"]).all()


def test_what_was_written_stays_in_the_cache_until_a_sync(tmp_path: Path) -> None:
    log, content = tmp_path / "device.log", os.urandom(1 << 20)
    with device.up(FAST, backend="tree", floor_ns=0, log_path=log) as disk:
        with (disk.mount_point / "file").open("wb") as file:
            file.write(content)
            file.flush()
            assert sum(disk.status().requests.values()) == 0
            os.fsync(file.fileno())
            assert (disk.mount_point / "file").read_bytes() == content
            assert disk.status().requests["read"] == 0
        disk.remount()
        assert (disk.mount_point / "file").read_bytes() == content
    seen = device.read_log(log).to_pandas()
    assert seen.groupby("op")["length"].sum().to_dict() == {"read": len(content), "write": len(content), "flush": 0}
    assert (seen["op"] == "flush").sum() == 1


def tried(call: Callable[[], object]) -> object:
    """What a call returns, or its error number."""
    try:
        return call()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


class Folder:
    """A folder that operations are tried in; two that are the same give the same answers."""

    def __init__(self, root: Path) -> None:
        self.root, self.open = root, dict[int, int]()

    def act(  # noqa: C901, PLR0911, PLR0912 - one case an operation
        self, op: str, name: str, other: str, number: int, data: bytes
    ) -> object:
        path, target = self.root / name, self.root / other
        match op:
            case "open":
                flags = [os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND][number % 4]
                extra = [0, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_TRUNC][number // 4 % 4]

                def keep() -> None:
                    descriptor = os.open(path, flags | extra, 0o640 if number % 3 else 0o604)
                    if number % 5 in self.open:
                        os.close(self.open[number % 5])
                    self.open[number % 5] = descriptor

                return tried(keep)
            case "write":
                return self.on(number, lambda descriptor: os.pwrite(descriptor, data, number % 9000))
            case "append":
                return self.on(number, lambda descriptor: os.pwrite(descriptor, data, os.fstat(descriptor).st_size % 20_000))
            case "read":
                return self.on(number, lambda descriptor: os.pread(descriptor, len(data), number % 9000))
            case "ftruncate":
                return self.on(number, lambda descriptor: os.ftruncate(descriptor, number % 12000))
            case "allocate":
                return self.on(number, lambda descriptor: os.posix_fallocate(descriptor, number % 8000, len(data)))
            case "sync":
                return self.on(number, os.fsync)
            case "map":
                return self.on(number, lambda descriptor: mapped(descriptor, data))
            case "close":
                return tried(lambda: os.close(self.open.pop(number % 5))) if number % 5 in self.open else None
            case "truncate":
                return tried(lambda: os.truncate(path, number % 12000))
            case "list":
                return tried(lambda: sorted(entry.name for entry in path.iterdir()))
            case "stat":
                return tried(lambda: told(path))
            case "chmod":
                return tried(lambda: path.chmod(number % 0o1000))
            case "utime":
                return tried(lambda: (os.utime(path, ns=(number * 7, number * 1000)), path.stat().st_mtime_ns)[1])
            case "readlink":
                return tried(lambda: str(path.readlink()))
            case "symlink":
                return tried(lambda: path.symlink_to(other))
            case _:
                calls = {"rename": os.rename, "link": os.link}
                alone = {"unlink": os.unlink, "mkdir": os.mkdir, "rmdir": os.rmdir, "fifo": os.mkfifo}
                return tried(lambda: calls[op](path, target) if op in calls else alone[op](path))

    def on(self, number: int, call: Callable[[int], object]) -> object:
        return tried(lambda: call(self.open[number % 5])) if number % 5 in self.open else None

    def contents(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            is_file = stat.S_ISREG(path.lstat().st_mode)
            found[name] = (told(path), path.read_bytes() if is_file else path.readlink() if path.is_symlink() else None)
        return found


def told(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return oct(status.st_mode), status.st_nlink, size, status.st_uid, status.st_gid


def mapped(descriptor: int, data: bytes) -> object:
    size = os.fstat(descriptor).st_size
    if size == 0:
        return None
    with mmap.mmap(descriptor, size) as view:
        view[: min(size, len(data))] = data[:size]
        return bytes(view)


OPS = (
    *("open", "open", "open", "write", "write", "append", "read", "read", "ftruncate", "allocate", "sync", "map", "close"),
    *("truncate", "list", "stat", "chmod", "utime", "readlink", "symlink", "rename", "rename", "link", "unlink", "mkdir"),
    *("rmdir", "fifo"),
)
NAMES = ("a", "b", "c", "d", "d/a", "d/b", "e", "e/a", "e/d", "e/d/a", "l", "l/a", "x" * 255, "y" * 256, "a/b", "no/a")


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_same_as_an_ordinary_folder(seed: int) -> None:
    rng, steps = np.random.default_rng(seed), int(os.environ.get("TICKDISK_TREE_STEPS", "1500"))
    with memory.folder() as plain, device.up(FAST, backend="tree", floor_ns=0) as disk:
        (plain / "ordinary").mkdir()
        tree, ordinary = Folder(disk.mount_point), Folder(plain / "ordinary")
        for step in range(steps):
            op, name, other = str(rng.choice(OPS)), str(rng.choice(NAMES)), str(rng.choice(NAMES))
            number, data = int(rng.integers(1 << 20)), rng.bytes(int(rng.integers(1, 6000)))
            if op == "open" and tried(lambda path=ordinary.root / name: stat.S_ISFIFO(path.stat().st_mode)) is True:
                continue  # it would wait for the other end
            if step % 100 == 99:
                disk.remount()
            expected, seen = (folder.act(op, name, other, number, data) for folder in (ordinary, tree))
            assert seen == expected, f"step {step}: {op} {name} {other} {number}"
        assert tree.contents() == ordinary.contents()
        disk.remount()
        assert tree.contents() == ordinary.contents()
        for descriptor in (*tree.open.values(), *ordinary.open.values()):
            os.close(descriptor)
        assert len(tree.contents()) > 3


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_survives(journal: str) -> None:
    with device.up(FAST, backend="tree", floor_ns=0) as disk:
        path = disk.mount_point / "world.sqlite"
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"pragma journal_mode={journal}")
            database.execute("create table blocks (position integer primary key, data blob)")
        rows: dict[int, bytes] = {}
        rng = np.random.default_rng(2)
        for _ in range(40):
            changed = {int(key): rng.bytes(int(rng.integers(1, 9000))) for key in rng.integers(0, 300, 20)}
            with closing(sqlite3.connect(path)) as database, database:
                database.executemany("insert or replace into blocks values (?, ?)", changed.items())
            rows |= changed
        flushed = disk.status().requests["flush"]
        disk.remount()
        disk.set(SLOW, floor_ns=0)
        with closing(sqlite3.connect(path)) as database:
            checked = database.execute("pragma integrity_check").fetchall()
            found = dict(database.execute("select position, data from blocks").fetchall())
        assert (checked, found) == ([("ok",)], rows)
        assert disk.status().requests["read"] > 0
    assert flushed >= 40


def test_a_backing_folder_that_was_given_stays(tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "old").write_text("before")
    with device.up(FAST, backend="tree", floor_ns=0, backing=tmp_path / "world") as disk:
        assert (disk.mount_point / "old").read_text() == "before"
        (disk.mount_point / "new").write_text("after")
    assert {path.name: path.read_text() for path in (tmp_path / "world").iterdir()} == {"old": "before", "new": "after"}
    with pytest.raises(TickdiskError, match="is no folder"), device.up(FAST, backend="tree", backing=tmp_path / "none"):
        pass
    assert nothing_left(disk.name)


def test_users_of_a_shared_tree_own_what_they_make() -> None:
    with device.up(FAST, backend="tree", floor_ns=0) as disk:
        shared = disk.mount_point / "shared"
        shared.mkdir()
        os.chown(shared, 0, 12345)
        shared.chmod(0o2777)
        script = "import os, sys; os.umask(0o27); os.mkdir('d'); open('f', 'w').close(); os.symlink('f', 'l')"
        subprocess.run(
            ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", sys.executable, "-c", script], cwd=shared, check=True
        )
        seen = {path.name: (oct(path.lstat().st_mode), path.lstat().st_uid, path.lstat().st_gid) for path in shared.iterdir()}
    assert seen == {"d": ("0o42750", 1234, 12345), "f": ("0o100640", 1234, 12345), "l": ("0o120777", 1234, 12345)}


def test_nobody_in_particular_can_have_one() -> None:
    """/dev/fuse is everybody's on most machines; in a mount namespace of the test's own it is, and so is this interpreter."""
    if shutil.which("fusermount3") is None:
        pytest.skip("no fusermount3")
    if not Path("/etc/mtab").exists():
        pytest.skip("no /etc/mtab, which fusermount3 unmounts by: a backend that says so")
    home = Path("/tmp") / f"tickdisk-nobody-{os.getpid()}"  # everybody can look there
    (home / "python").mkdir(mode=0o755, parents=True)
    try:
        os.mknod(home / "fuse", stat.S_IFCHR | 0o666, os.makedev(10, 229))
        (home / "fuse").chmod(0o666)
        (home / "script.py").write_text(NOBODY)
        python = home / "python/bin" / Path(sys.executable).resolve().name
        command = (
            f"mount --bind {home}/fuse /dev/fuse && mount --bind {sys.base_prefix} {home}/python && cd / && "
            f"exec setpriv --reuid=65534 --regid=65534 --clear-groups {python} {home}/script.py"
        )
        packages = [str(Path(device.__file__).parents[2]), *(path for path in sys.path if path.endswith("site-packages"))]
        environment = {"PATH": os.environ["PATH"], "HOME": "/", "PYTHONPATH": ":".join(packages), "PYTHONDONTWRITEBYTECODE": "1"}
        environment["LD_LIBRARY_PATH"] = f"{home}/python/lib"
        done = subprocess.run(
            [*with_own_mounts(), "sh", "-c", command], capture_output=True, text=True, check=False, env=environment
        )
        assert (done.stdout, done.stderr) == ("tree True [] False []\n", "")
    finally:
        assert f"{home}/" not in Path("/proc/self/mounts").read_text()
        shutil.rmtree(home)
        shutil.rmtree(Path(tempfile.gettempdir()) / "tickdisk-65534", ignore_errors=True)


def reading(path: Path) -> "subprocess.Popen[str]":
    user = subprocess.Popen([sys.executable, "-c", USER, path], stdout=subprocess.PIPE, text=True)
    assert user.stdout is not None
    assert user.stdout.readline() == "reading\n"
    return user


def test_the_emulator_is_killed() -> None:
    with device.up(FAST, backend="tree", floor_ns=0) as disk:
        path = disk.mount_point / "file"
        path.write_bytes(bytes(1 << 20))
        disk.set(SLOW, floor_ns=0)
        with reading(path) as user:
            os.kill(disk.daemon_pid, signal.SIGKILL)
            assert user.wait(LIMIT_S) in (errno.ENOTCONN, errno.ECONNABORTED)
            with pytest.raises(TickdiskError, match="does not answer"):
                disk.status()
            with pytest.raises(OSError, match="not connected"):
                path.open("rb")
    assert nothing_left(disk.name)


@for_release
def test_the_emulator_hangs() -> None:
    with device.up(FAST, backend="tree", floor_ns=0) as disk:
        (disk.mount_point / "file").write_bytes(bytes(1 << 20))
        with reading(disk.mount_point / "file") as user:
            os.kill(disk.daemon_pid, signal.SIGSTOP)
            started = time.monotonic()
            disk.down()
            assert user.wait(LIMIT_S) != 0
            assert time.monotonic() - started < LIMIT_S
    assert nothing_left(disk.name)


def test_the_owner_is_killed_and_the_next_start_removes_that_alone(tmp_path: Path) -> None:
    name = f"owner-{os.getpid()}"
    bystander = Path(tempfile.mkdtemp(prefix="tickdisk_unrelated_", dir=memory.MEMORY))
    try:
        with device.up(FAST, backend="tree", floor_ns=0) as living:
            with subprocess.Popen([sys.executable, "-c", OWNER, name, tmp_path], stdout=subprocess.PIPE, text=True) as owner:
                assert owner.stdout is not None
                daemon = int(owner.stdout.readline())
                assert device.recover() == []
                owner.kill()
            deadline = time.monotonic() + LIMIT_S
            while ProcessIdentity.of(daemon) is not None and time.monotonic() < deadline:
                time.sleep(0.05)
            removed = device.recover()
            assert f"{name}: FUSE mount at {records.STATE / name / 'fs'}" in removed
            assert any(line.startswith(f"{name}: files in {memory.MEMORY}/tickdisk_{name}_") for line in removed)
            assert nothing_left(name)
            (living.mount_point / ".lock").write_text("free")  # what folders in memory have, too
            with memory.folder():
                (living.mount_point / "file").write_text("alive")
        assert bystander.is_dir()
    finally:
        bystander.rmdir()
    assert nothing_left(living.name)


def test_of_another_boot_only_a_tree_s_own_files_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backing, "MEMORY", Path("/nowhere"))  # so that they are in a folder that outlives a boot
    record = DeviceRecord.new("left", 0, "tree", None, "tree")
    record.boot_id, record.backing, record.made_backing = "before", backing.make_backing(record), True
    record.save()
    assert record.backing.parent == records.STATE
    assert device.recover() == [f"left: files in {record.backing}"]
    assert not list(records.STATE.iterdir())


def test_a_folder_of_the_user_stays_and_a_measurement_leaves_nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "mnt").mkdir()
    (tmp_path / "files").mkdir()
    before = set((tmp_path / "files").iterdir())
    seen = []
    with device.up(SLOW, backend="tree", mount_point=tmp_path / "mnt", backing=tmp_path / "files", size_bytes=1 << 60) as disk:
        assert disk.status().floor_ns > 0, "it was measured"
        with disk.probe() as (path, size_bytes):
            seen = list((tmp_path / "files").glob("**/*"))
            assert path.stat().st_size == size_bytes
    assert (tmp_path / "mnt").is_dir()
    assert set((tmp_path / "files").iterdir()) == before
    assert seen == []
