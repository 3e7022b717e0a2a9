"""The backend folder, which is a real disk: a file system on a loop device on a new file in a folder of that disk."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tickdisk.device.clean import end
from tickdisk.device.kernel_device import Counts, counts_of
from tickdisk.device.log import OPS
from tickdisk.device.loop import LoopDevice, detach
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import MKFS, DeviceSetting, MountedDevice
from tickdisk.device.mounts import memory_file_system, unmount
from tickdisk.device.record import DeviceRecord
from tickdisk.device.status import DeviceStatus, EmulatorStatus
from tickdisk.foundation.awake import keep_cores_awake
from tickdisk.foundation.errors import TickdiskError

FOLDER = "folder"
"""Name of this backend."""
REAL_DISK = DeviceModel(
    name="real_disk",
    description="a real disk, which is as fast as it is",
    read_latency_ns=0,
    write_latency_ns=0,
    flush_latency_ns=0,
)
"""The model of a real disk, which adds no delay to it."""
_MKFS = {
    "ext4": tuple(f"{word},nodiscard" if "lazy_itable_init" in word else word for word in MKFS["ext4"]),
    "xfs": (*MKFS["xfs"], "-K"),
    "btrfs": (*MKFS["btrfs"], "--nodiscard"),
}
"""Commands that make a file system without a discard, which would free the room that the file has."""
_PIECE = 1 << 20
_SPARE_BYTES = 256 << 20
"""Space that stays free beside the file, because a full file system hurts everybody else who uses it."""
_STEP_S = 5.0


class FolderDevice(MountedDevice):
    """A part of a real disk that is mounted as an emulated device would be, with the same layers above the disk.

    The disk cannot change: it has one setting, no stalls, no power cuts and no log. Its file has no name, so the kernel frees it
    when the loop device is gone, in whatever way this process ends. Other files of the folder are not touched. The cores of the
    machine are kept from sleeping while it is up, as they are beside an emulator.
    """

    _mkfs = _MKFS

    def __init__(self, record: DeviceRecord) -> None:
        super().__init__(record)
        self._awake: int | None = None
        none = dict.fromkeys(OPS, 0)
        self._before: Counts = none, none
        """Counts of the kernel when the loop device was attached. The kernel keeps those of earlier files of the same device."""

    @property
    def daemon_pid(self) -> int:
        """Raises TickdiskError, because no process emulates a real disk."""
        raise TickdiskError(f"{self.name} is a real disk and has no emulator; take backend fuse or tree")

    def start(
        self,
        model: DeviceModel,  # noqa: ARG002 - `bring_up` has checked that it adds nothing
        log_path: Path | None,
        logs: Path | None,  # noqa: ARG002 - no emulator writes output
        cores: Sequence[int] | None,  # noqa: ARG002 - no emulator runs
        *,
        detached: bool,
    ) -> None:
        """Makes and fills the file, attaches a loop device to it, and makes and mounts the file system.

        Raises TickdiskError if the folder has no room or is in memory, and for a log or a detached device, which a real disk
        cannot have.
        """
        if log_path is not None:
            raise TickdiskError(f"backend {FOLDER} keeps no log of requests, because nothing emulates the disk; leave it out")
        if detached:
            raise TickdiskError(f"backend {FOLDER} is there only while a program uses it; take backend fuse to keep a device up")
        record = self._record
        self._awake = keep_cores_awake()
        for folder in (record.folder, record.mount_point):
            folder.mkdir(parents=True, exist_ok=True)
        assert record.backing is not None
        descriptor = _nameless_file(record.backing, self.size_bytes)
        try:
            self._loop = LoopDevice(Path(f"/proc/self/fd/{descriptor}"), record.mark)
        finally:
            os.close(descriptor)
        record.loop = self._loop.number
        record.save()
        self._before = counts_of(self.block_device)
        self._make_file_system()

    def leave(self) -> None:
        """Raises TickdiskError, because a real disk is there only while a program uses it."""
        raise TickdiskError(f"{self.name} is a real disk, which no other process can take over; take backend fuse")

    def set(self, model: DeviceModel, *, floor_ns: int) -> DeviceSetting:
        """Returns the setting that is always in force, from now on. A model that adds a delay raises TickdiskError."""
        self.backend.check_model(model)
        self._note(model)
        return DeviceSetting(1, time.monotonic_ns(), model.name, floor_ns)

    def stall(self, duration_ns: int) -> int:
        """Raises TickdiskError, because a real disk cannot be stalled."""
        raise TickdiskError(f"a real disk cannot be stalled for {duration_ns} ns; take backend fuse or tree")

    def status(self) -> DeviceStatus:
        """Returns the state of the device. Its counts are the kernel's, since the loop device was attached."""
        (requests, sizes), (requests_before, sizes_before) = counts_of(self.block_device), self._before
        return DeviceStatus(
            device=self._record.model,
            description=self._record.description,
            requests={op: count - requests_before[op] for op, count in requests.items()},
            bytes={op: size - sizes_before[op] for op, size in sizes.items()},
            stalls=(),
            floor_ns=0,
            setting=1,
        )

    def emulator_status(self) -> EmulatorStatus:
        """Raises TickdiskError, because no process emulates a real disk."""
        raise TickdiskError(f"{self.name} is a real disk and has no emulator; take backend fuse or tree")

    def alive(self) -> bool:
        """Returns whether the loop device is still attached."""
        return self._loop is not None

    def down(self) -> bool:
        """Removes the device as `MountedDevice.down` does, and lets cores sleep again."""
        if self._awake is not None:
            os.close(self._awake)
            self._awake = None
        return super().down()

    def _go_down(self) -> None:
        record = self._record
        for user in record.users:
            end(user)
        if record.file_system is not None and not unmount(record.mount_point, self._unmount_limit_s(), lazily=False):
            raise TickdiskError(f"{record.mount_point} is in use")
        if self._loop is not None:
            self._loop.close()
            self._loop = None
        if record.loop is not None and not detach(record.loop, record.mark, _STEP_S):
            raise TickdiskError(f"{self.block_device} is in use")
        record.remove()


def check_folder(folder: Path | None, size_bytes: int) -> None:
    """Raises TickdiskError if a folder cannot have a file of `size_bytes` on a real disk. The message says why."""
    if folder is None:
        raise TickdiskError(f"backend {FOLDER} needs a folder on the disk; give one as the backing folder")
    if not folder.is_dir():
        raise TickdiskError(f"{folder} is no folder; give a folder on the disk")
    if memory := memory_file_system(folder):
        raise TickdiskError(f"{folder} is in memory ({memory}); give a folder on a disk")
    room = os.statvfs(folder)
    free_bytes = room.f_bavail * room.f_frsize
    if free_bytes < size_bytes + _SPARE_BYTES:
        raise TickdiskError(
            f"{folder} has {free_bytes >> 20} MiB free, but a file of {size_bytes >> 20} MiB and {_SPARE_BYTES >> 20} MiB to "
            "spare do not fit; free space, or give a smaller device"
        )


def _nameless_file(folder: Path, size_bytes: int) -> int:
    """Returns the descriptor of a new file without a name that is wholly written, so that no write has to find room for it.

    It holds random bytes, which nothing compresses or deduplicates.
    """
    name = folder / f".tickdisk-disk-{os.getpid()}-{time.monotonic_ns()}"
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise TickdiskError(f"cannot make a file in {folder}: {error.strerror}; give a folder that can be written") from error
    try:
        name.unlink()
        os.posix_fallocate(descriptor, 0, size_bytes)
        with open(descriptor, "wb", closefd=False) as file:
            file.writelines(os.urandom(min(_PIECE, size_bytes - at)) for at in range(0, size_bytes, _PIECE))
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        os.close(descriptor)
        raise TickdiskError(f"cannot write {size_bytes >> 20} MiB in {folder}: {error.strerror}; free space there") from error
    return descriptor
