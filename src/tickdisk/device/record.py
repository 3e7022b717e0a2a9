"""The record of a mounted device, a file that names everything that the device holds, so that it can always be removed."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity, boot_id, pid_namespace
from tickdisk.foundation.record import read, write


def _state() -> Path:
    named = os.environ.get("TICKDISK_STATE")
    if named is not None:
        return Path(named)
    if os.geteuid() == 0:
        return Path("/run/tickdisk")
    user_folder = os.environ.get("XDG_RUNTIME_DIR")
    return Path(user_folder) / "tickdisk" if user_folder else Path(tempfile.gettempdir()) / f"tickdisk-{os.geteuid()}"


STATE = _state().resolve()
"""Folder of the records and mounts. Processes with different folders do not see each other's devices."""
_FOLDER_MODE = 0o711
"""Mode of that folder. A server under an account of its own can reach its files below it, and cannot list what else is there."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,53}")
"""Form of a device's name. It has at most 54 characters, because a loop device stores 63 and `tickdisk:` takes the first 9."""


class KernelBlock(BaseModel):
    """A block device that the kernel made on request, for a device of the backend zram or null_blk."""

    model_config = ConfigDict(frozen=True)

    name: str
    """Name of the block device in /dev and /sys/block."""
    inode: int
    """Inode of its folder in /sys/block, which tells it from a later device of the same name."""

    @property
    def path(self) -> Path:
        """The path of the block device, in /dev."""
        return Path("/dev") / self.name

    @classmethod
    def named(cls, name: str) -> Self:
        """Returns the block device that has this name now."""
        return cls(name=name, inode=(Path("/sys/block") / name).stat().st_ino)

    def there(self) -> bool:
        """Returns whether this very block device still exists, and not only another one with its name."""
        folder = Path("/sys/block") / self.name
        return folder.exists() and folder.stat().st_ino == self.inode


class DeviceRecord(BaseModel):
    """The record of one mounted device, which names all that has to be removed with the device.

    It is kept as the file `path`, so that other processes can use the device, and can remove it if its owner died.
    """

    name: str
    """Name of the mounted device, which no other mounted device has."""
    owner: ProcessIdentity
    """The process whose end also ends the device. It is the emulator itself if the device is detached."""
    boot_id: str
    pid_namespace: int
    backend: str = "fuse"
    size_bytes: int = 0
    """Size of the block device. It has no meaning for a tree."""
    model: str = ""
    description: str = ""
    latency_ns: dict[str, int] = {}
    """Median latencies of the model on the idle device, by operation."""
    file_system: str | None = "ext4"
    """Kind of the file system. It is "tree" for a tree, and None for a bare block device."""
    volatile: bool = False
    """Whether a power cut drops what was not flushed."""
    filled: bool = False
    """Whether every byte of the block device is written before the file system is made."""
    mount_point: Path
    """Folder at which the file system is mounted. Nothing is mounted there for a bare block device."""
    daemon: ProcessIdentity | None = None
    """The process of the emulator. It is None before the emulator starts, and for a backend without an emulator."""
    loop: int | None = None
    """Number of the loop device. It is None before one is attached, and for backends other than fuse and folder."""
    arrivals_lack: str = ""
    """The reason why the kernel does not say when requests arrive, or an empty text if it does."""
    block: KernelBlock | None = None
    """The block device of the backends zram and null_blk. It is None for other backends."""
    backing: Path | None = None
    """The folder that contains the files of a tree, or the file of the backend folder. It is None for other backends."""
    made_backing: bool = False
    """Whether the backing folder was made for the device, and is removed with it."""
    is_nobodys: bool = False
    """Whether the device is a detached one of the kernel, which needs no process and stays until it is taken down."""
    users: list[ProcessIdentity] = []
    """Processes that use the device (`MountedDevice.add_user`). They are killed before the device is removed."""
    old_loops: list[int] = []
    """Numbers of loop devices from before a power cut, on which processes still have files open."""
    cut_off: list[ProcessIdentity] = []
    """Processes that had files open on the device before a power cut, or when the device was taken down."""
    left: list[str] = []
    """Parts that are left of the device after it was taken down, because processes use them."""

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
        """Returns a record, not yet written, of a device that holds nothing yet and that this process owns.

        If `mount_point` is None, the device is mounted at a folder below `folder`.
        If `name` does not have the form of a name, TickdiskError is raised.
        """
        if not _NAME.fullmatch(name):
            raise TickdiskError(
                f"device {name!r}: a name is a letter or digit, then at most 53 of them, dots, _ and -; give another --name"
            )
        return cls(
            name=name,
            owner=ProcessIdentity.this_process(),
            boot_id=boot_id(),
            pid_namespace=pid_namespace(),
            backend=backend,
            size_bytes=size_bytes,
            file_system=file_system,
            volatile=volatile,
            # The path is absolute and without links, as the kernel lists it, because a reader may be in another folder.
            mount_point=Path(os.path.realpath(mount_point or STATE / name / "fs")),
        )

    @property
    def path(self) -> Path:
        """The path of the record's file, in the folder `STATE`."""
        return STATE / f"{self.name}.json"

    @property
    def folder(self) -> Path:
        """The folder with the device's control socket, and with its mounts and logs unless the caller gives other folders."""
        return STATE / self.name

    @property
    def fuse_mount(self) -> Path:
        """The mount point of the FUSE file system, which has the single file `disk` or is the tree."""
        return self.mount_point if self.backend == "tree" else self.folder / "fuse"

    @property
    def socket(self) -> Path:
        """The path of the emulator's control socket, to which `control.ask` sends requests."""
        return self.folder / "control"

    @property
    def logs(self) -> Path:
        """The folder for the output of the emulator, unless the caller gives another."""
        return self.folder / "logs"

    @property
    def mark(self) -> str:
        """The source of the device's FUSE mount and the mark of its loop device, by which both are recognised."""
        return f"tickdisk:{self.name}"

    def still_in_use(self) -> str:
        """Returns a sentence about a device that was taken down: which parts are left, who uses them, and what to do."""
        who = ", ".join(str(user.pid) for user in sorted(self.cut_off, key=lambda user: user.pid) if user.alive()) or "unknown"
        return (
            f"{self.name}: down, but still in use: {'; '.join(self.left)} (processes: {who}); when they have closed it, "
            "`tickdisk device recover` removes the rest"
        )

    def create(self) -> None:
        """Writes the record to its file for the first time, which reserves the name of the device.

        If the device has a record already, or another user owns the folder of records, TickdiskError is raised.
        """
        is_ours = not STATE.exists() or "TICKDISK_STATE" not in os.environ
        STATE.mkdir(parents=True, exist_ok=True)
        if STATE.stat().st_uid != os.geteuid():
            raise TickdiskError(f"{STATE} belongs to another user; set TICKDISK_STATE to a folder of your own")
        if is_ours:  # An existing folder that the user names in TICKDISK_STATE keeps its rights.
            STATE.chmod(_FOLDER_MODE)
        of_this_name = re.compile(rf"\.{re.escape(self.name)}\.\d+\.new")
        for left in STATE.glob(".*.new"):
            if of_this_name.fullmatch(left.name):
                left.unlink(missing_ok=True)
        first = STATE / f".{self.name}.{os.getpid()}.new"
        write(first, self)
        try:
            self.path.hardlink_to(first)  # A link appears with its whole content, and only one of two rivals can make it.
        except (FileExistsError, FileNotFoundError) as error:
            if self.path.exists() and (there := load_record(self.path)).left:
                raise TickdiskError(f"{there.still_in_use()}; or choose another --name") from error
            raise TickdiskError(f"device {self.name} is already up; choose another --name, or take it down") from error
        finally:
            first.unlink(missing_ok=True)

    def save(self) -> None:
        """Writes the present values of the record to its file again, after something about the device has changed."""
        write(self.path, self)

    def remove(self) -> None:
        """Removes the record's file, the logs and the device's empty folders, when nothing else is left of the device.

        A folder on which something is still mounted stays.
        """
        shutil.rmtree(self.logs, ignore_errors=True)
        self.socket.unlink(missing_ok=True)
        for folder in (self.folder / "fs", self.folder / "fuse", self.folder):
            with suppress(OSError):  # The folder may be missing, in use, or not empty.
                folder.rmdir()
        self.path.unlink(missing_ok=True)


def load_record(path: Path) -> DeviceRecord:
    """Reads the record of a mounted device from its file. If the file does not contain a record, TickdiskError is raised."""
    return read(DeviceRecord, path, "it is no record of a device; remove it")


def records() -> Iterator[DeviceRecord]:
    """Yields the record of every device in the folder `STATE`, except those that another process removes meanwhile."""
    for path in sorted(STATE.glob("*.json")):
        try:
            yield load_record(path)
        except TickdiskError:
            if path.exists():
                raise


def find_record(name: str | None) -> DeviceRecord:
    """Returns the record of the mounted device called `name`, or of the only mounted device if `name` is None.

    If there is no such record, TickdiskError lists the mounted devices.
    """
    by_name = {record.name: record for record in records()}
    if name is None and len(by_name) == 1:
        return next(iter(by_name.values()))
    if name not in by_name:
        if not by_name:
            raise TickdiskError(f"no device{'' if name is None else f' {name}'} is mounted; `tickdisk device up hdd` mounts one")
        mounted = ", ".join(by_name)
        what = f"several devices are mounted, {mounted}" if name is None else f"no device {name} is mounted, only {mounted}"
        raise TickdiskError(f"{what}; give the name of one of them")
    return by_name[name]
