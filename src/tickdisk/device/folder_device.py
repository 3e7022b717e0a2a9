"""The backend folder, which is a real disk: a file system on a loop device on a new file in a folder of that disk."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tickdisk.device.loop import LoopDevice
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounts import memory_file_system
from tickdisk.device.record import DeviceRecord
from tickdisk.device.unemulated import UnemulatedDevice
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
_SPARE_BYTES = 256 << 20
"""Space that stays free beside the file, because a full file system hurts everybody else who uses it."""


class FolderDevice(UnemulatedDevice):
    """A part of a real disk that is mounted as an emulated device would be, with the same layers above the disk.

    Its file has no name, so the kernel frees it when the loop device is gone, in whatever way this process ends. Other files of
    the folder are not touched. The cores of the machine are kept from sleeping while it is up, as they are beside an emulator.
    """

    def __init__(self, record: DeviceRecord) -> None:
        super().__init__(record)
        self._awake: int | None = None

    def start(
        self,
        model: DeviceModel,  # noqa: ARG002 - `bring_up` has checked that it adds nothing
        log_path: Path | None,
        logs: Path | None,  # noqa: ARG002 - no emulator writes output
        cores: Sequence[int] | None,  # noqa: ARG002 - no emulator runs
        *,
        detached: bool,
    ) -> None:
        """Makes the file, attaches a loop device to it, writes it wholly, and makes and mounts the file system.

        Raises TickdiskError if the folder has no room, and for a log or a detached device, which a real disk cannot have.
        """
        if detached:
            raise TickdiskError(f"backend {FOLDER} is there only while a program uses it; take backend fuse to keep a device up")
        self._begin(log_path)
        record = self._record
        self._awake = keep_cores_awake()
        assert record.backing is not None
        descriptor = _nameless_file(record.backing, self.size_bytes)
        try:
            self._loop = LoopDevice(Path(f"/proc/self/fd/{descriptor}"), record.mark)
        finally:
            os.close(descriptor)
        record.loop = self._loop.number
        record.save()
        self._count_from_now()
        self._make_file_system()

    def leave(self) -> None:
        """Raises TickdiskError, because a real disk is there only while a program uses it."""
        raise TickdiskError(f"{self.name} is a real disk, which no other process can take over; take backend fuse")

    def alive(self) -> bool:
        """Returns whether the loop device is still attached."""
        return self._loop is not None

    def down(self) -> bool:
        """Removes the device as `MountedDevice.down` does, and lets cores sleep again."""
        if self._awake is not None:
            os.close(self._awake)
            self._awake = None
        return super().down()


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
    """Returns the descriptor of a new file without a name, for which the file system of the folder has reserved the room."""
    name = folder / f".tickdisk-disk-{os.getpid()}-{time.monotonic_ns()}"
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise TickdiskError(f"cannot make a file in {folder}: {error.strerror}; give a folder that can be written") from error
    try:
        name.unlink()
        os.posix_fallocate(descriptor, 0, size_bytes)
    except OSError as error:
        os.close(descriptor)
        raise TickdiskError(f"cannot write {size_bytes >> 20} MiB in {folder}: {error.strerror}; free space there") from error
    return descriptor
