"""What a mounted device holds, written down at each step, so that the next start can take back what a dead one left."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, write_json


def _state() -> Path:
    named = os.environ.get("TICKDISK_STATE")
    if named is not None:
        return Path(named)
    if os.geteuid() == 0:
        return Path("/run/tickdisk")
    own = os.environ.get("XDG_RUNTIME_DIR")
    return Path(own) / "tickdisk" if own else Path(tempfile.gettempdir()) / f"tickdisk-{os.geteuid()}"


STATE = _state().resolve()
"""Records and mounts. Processes with different ones do not see each other's devices."""
_PASSABLE = 0o711
"""A server that runs under an account of its own reaches its files below the folder, and does not see what else is there."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,53}")
"""A name is a file name of at most 54 letters, because a loop device stores 63 of them and `tickdisk:` comes first."""
_STARTED = 19
"""Position of starttime after the command in /proc/PID/stat, proc(5)."""


class Identity(BaseModel):
    """A process; the start time tells it from a later one with the same pid."""

    model_config = ConfigDict(frozen=True)

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Returns the identity of a running process, None when there is none or it is a zombie."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else cls(pid=pid, started=int(fields[_STARTED]))

    def alive(self) -> bool:
        """Returns whether this very process still runs."""
        return Identity.of(self.pid) == self


def boot_id() -> str:
    """Returns the kernel's identity of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def pid_namespace() -> int:
    """Returns the inode of our pid namespace."""
    return Path("/proc/self/ns/pid").stat().st_ino


class KernelBlock(BaseModel):
    """A block device that the kernel made for us."""

    model_config = ConfigDict(frozen=True)

    name: str
    """What it is called in /dev and /sys/block."""
    inode: int
    """Of its folder in /sys, which tells it from a later one of the same name."""

    @property
    def path(self) -> Path:
        """The device."""
        return Path("/dev") / self.name

    @classmethod
    def named(cls, name: str) -> Self:
        """Returns the block device that there is now under a name."""
        return cls(name=name, inode=(Path("/sys/block") / name).stat().st_ino)

    def there(self) -> bool:
        """Returns whether it is still this very device."""
        folder = Path("/sys/block") / self.name
        return folder.exists() and folder.stat().st_ino == self.inode


class Record(BaseModel):
    """One mounted device. `owner` is the process whose end ends the device: the daemon itself once the device is detached."""

    name: str
    owner: Identity
    boot_id: str
    pid_namespace: int
    backend: str = "fuse"
    size_bytes: int = 0
    model: str = ""
    """The name of the model in force."""
    description: str = ""
    """The description of that model."""
    file_system: str | None = "ext4"
    """None: a bare block device; of a tree, "tree"."""
    volatile: bool = False
    """Whether a power cut takes what was not flushed."""
    mount_point: Path
    daemon: Identity | None = None
    loop: int | None = None
    arrivals_lack: str = ""
    """Why the kernel does not say when requests arrive, if it does not."""
    block: KernelBlock | None = None
    """Of backends zram and null_blk."""
    backing: Path | None = None
    """Where the files of a tree are."""
    made_backing: bool = False
    """Whether the backing folder was made for the device, and goes with it."""
    is_nobodys: bool = False
    """A detached device of the kernel's, which no process keeps up: it stays until it is taken down."""
    users: list[Identity] = []
    old_loops: list[int] = []
    """Loop devices of before a power cut, on which somebody still has files open."""
    cut_off: list[Identity] = []
    """The processes that had files open on the device before a power cut, or when it went down."""

    @classmethod
    def new(
        cls,
        name: str,
        size_bytes: int,
        file_system: str | None,
        mount_point: Path | None,
        backend: str = "fuse",
        *,
        volatile: bool = False,
    ) -> Self:
        """Returns a record of a device that has nothing yet and that this process owns; TickdiskError for a name that is none."""
        if not _NAME.fullmatch(name):
            raise TickdiskError(
                f"device {name!r}: a name is a letter or digit, then at most 53 of them, dots, _ and -; give another --name"
            )
        owner = Identity.of(os.getpid())
        if owner is None:
            raise TickdiskError("/proc does not show this process; mount proc")
        return cls(
            name=name,
            owner=owner,
            boot_id=boot_id(),
            pid_namespace=pid_namespace(),
            backend=backend,
            size_bytes=size_bytes,
            file_system=file_system,
            volatile=volatile,
            # As the kernel says it: whoever looks for it may be in another folder.
            mount_point=(mount_point or STATE / name / "fs").resolve(),
        )

    @property
    def path(self) -> Path:
        """The record's file."""
        return STATE / f"{self.name}.json"

    @property
    def folder(self) -> Path:
        """Where the device's mounts, socket and logs are."""
        return STATE / self.name

    @property
    def fuse_mount(self) -> Path:
        """Mount point of the FUSE file system: of the one that has the one file `disk`, or of the tree."""
        return self.mount_point if self.backend == "tree" else self.folder / "fuse"

    @property
    def socket(self) -> Path:
        """Control socket of the daemon."""
        return self.folder / "control"

    @property
    def logs(self) -> Path:
        """Output of the daemon, unless the caller has a folder for it."""
        return self.folder / "logs"

    @property
    def mark(self) -> str:
        """What our FUSE mount is called, and what our loop device bears."""
        return f"tickdisk:{self.name}"

    def create(self) -> None:
        """Writes the record for the first time; TickdiskError where there is one, or somebody else owns the folder of records."""
        is_ours = not STATE.exists() or "TICKDISK_STATE" not in os.environ
        STATE.mkdir(parents=True, exist_ok=True)
        if STATE.stat().st_uid != os.geteuid():
            raise TickdiskError(f"{STATE} belongs to another user; set TICKDISK_STATE to a folder of your own")
        if is_ours:  # and not a folder of the user's, whose rights are none of our business
            STATE.chmod(_PASSABLE)
        of_this_name = re.compile(rf"\.{re.escape(self.name)}\.\d+\.new")
        for left in STATE.glob(".*.new"):
            if of_this_name.fullmatch(left.name):
                left.unlink(missing_ok=True)
        first = STATE / f".{self.name}.{os.getpid()}.new"
        write_json(first, self.model_dump(mode="json"))
        try:
            self.path.hardlink_to(first)  # whole, and of two that begin at once one
        except (FileExistsError, FileNotFoundError) as error:
            raise TickdiskError(f"device {self.name} is already up; choose another --name, or take it down") from error
        finally:
            first.unlink(missing_ok=True)

    def save(self) -> None:
        """Writes the record again."""
        write_json(self.path, self.model_dump(mode="json"))

    def remove(self) -> None:
        """Removes the record and our empty folders; what is mounted there after all is not touched."""
        shutil.rmtree(self.logs, ignore_errors=True)
        self.socket.unlink(missing_ok=True)
        for folder in (self.folder / "fs", self.folder / "fuse", self.folder):
            with suppress(OSError):  # not there, in use, or not empty
                folder.rmdir()
        self.path.unlink(missing_ok=True)


def load_record(path: Path) -> Record:
    """Returns the record in a file; TickdiskError when it is none."""
    try:
        return Record.model_validate(read_json(path))
    except ValidationError as error:
        raise TickdiskError(f"{path} is no record of a device ({error.error_count()} keys are wrong); remove it") from error


def records() -> Iterator[Record]:
    """Yields every record; one that another process removes meanwhile is passed over."""
    for path in sorted(STATE.glob("*.json")):
        try:
            yield load_record(path)
        except TickdiskError:
            if path.exists():
                raise


def find_record(name: str | None) -> Record:
    """Returns the record called `name`, or the only one; TickdiskError lists what there is."""
    found = {record.name: record for record in records()}
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name not in found:
        if not found:
            raise TickdiskError(f"no device{'' if name is None else f' {name}'} is mounted; `tickdisk device up hdd` mounts one")
        mounted = ", ".join(found)
        what = f"several devices are mounted, {mounted}" if name is None else f"no device {name} is mounted, only {mounted}"
        raise TickdiskError(f"{what}; give the name of one of them")
    return found[name]
