"""The functions that bring a device up, either for the length of a `with` block or until somebody takes it down."""

import itertools
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, Unpack

from tickdisk.device.backend import BACKENDS, Backend, BackendName, find_backend
from tickdisk.device.clean import recover
from tickdisk.device.floor import measure_floor
from tickdisk.device.folder_device import FOLDER, FolderDevice, check_folder
from tickdisk.device.kernel_device import KernelDevice
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import LEAST_BYTES, MKFS, MountedDevice
from tickdisk.device.record import DeviceRecord, find_record, records
from tickdisk.device.tree import TREE, TreeDevice
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.machine import Machine

DEFAULT_SIZE_BYTES = 2 << 30
DEFAULT_FILE_SYSTEM = "ext4"
_PAGE = 4096
_NAMED = 32
"""Number of characters that the name of a device takes from its model, if no name is given."""
_DEVICES: dict[BackendName, type[MountedDevice]] = {
    "fuse": MountedDevice,
    "tree": TreeDevice,
    "zram": KernelDevice,
    "null_blk": KernelDevice,
    "folder": FolderDevice,
}
_count = itertools.count()


class Options(TypedDict, total=False):
    """The options with which `up` and `bring_up` bring a device up. Every option may be left out."""

    backend: str | None
    """Name of the backend, one of `BACKENDS`. If None or left out, `default_backend` chooses it."""
    size_bytes: int
    """Size of the device, 2 GiB unless given. A tree is as large as the file system of its backing folder."""
    file_system: str | None
    """Kind of the file system, ext4 unless given. If None, the device is a bare block device. A tree has no other file system."""
    floor_ns: int | None
    """Time by which replies are sent earlier, because the machine itself adds it to the model's latency. If None or left out, it
    is measured first, which takes some seconds."""
    name: str | None
    """Name of the device. If None or left out, it is made from the model's name, the pid and a counter."""
    log_path: Path | None
    """File on tmpfs to which a record of every request is written (`read_log`). If None or left out, no log is kept."""
    logs: Path | None
    """Folder to which the emulator's output is written. If None or left out, it is a folder beside the device's record."""
    cores: Sequence[int] | None
    """Cores on which the emulator may run. If None or left out, or if the device is detached, there is no such limit."""
    mount_point: Path | None
    """Folder at which the device is mounted. If None or left out, it is a folder beside the device's record."""
    volatile: bool
    """Whether a power cut drops data that were not flushed (`MountedDevice.cut`)."""
    filled: bool
    """Whether every byte of the block device is written and flushed before the file system is made, as it always is on a real
    disk (backend folder)."""
    backing: Path | None
    """Folder with the files of a tree, which stay in it. If None or left out, they are in memory and vanish with the device. For
    the backend folder, it is a folder on the real disk, and has to be given."""


@contextmanager
def up(model: DeviceModel, **options: Unpack[Options]) -> Iterator[MountedDevice]:
    """Brings a device up for the length of a `with` block, and removes it afterwards, whatever happens in the block.

    Devices of dead processes are removed first. The new device has an empty file system, or the files of the backing folder that
    was given for a tree. The model is in force on it. If this machine lacks something, the backend cannot be that device, or an
    option is wrong, TickdiskError is raised.
    """
    device = bring_up(model, **options)
    try:
        yield device
    finally:
        device.down()


def bring_up(model: DeviceModel, *, detached: bool = False, **options: Unpack[Options]) -> MountedDevice:
    """Brings a device up without a `with` block. The caller has to take it down with `MountedDevice.down`.

    A `detached` device stays when this process ends, as after `tickdisk device up`. Otherwise its emulator ends with this
    process. Devices of dead processes are removed first, as by `up`, which raises the same errors. If a step fails, all that was
    made is removed again.
    """
    backend = find_backend(options.get("backend"))
    size_bytes = options.get("size_bytes", DEFAULT_SIZE_BYTES)
    file_system = options.get("file_system", DEFAULT_FILE_SYSTEM)
    _check(backend, size_bytes, file_system, options)
    backend.check_model(model)
    recover()
    name = options.get("name") or f"{name_of(model)}-{os.getpid()}-{next(_count)}"
    on_it = file_system if backend.abilities.block_device else TREE
    record = DeviceRecord.new(
        name, size_bytes, on_it, options.get("mount_point"), backend.name, volatile=options.get("volatile", False)
    )
    backing = options.get("backing")
    record.filled = backend.name == FOLDER or options.get("filled", False)
    record.backing = None if backing is None else Path(os.path.realpath(backing))
    device = _DEVICES[backend.name](record)
    record.create()
    try:
        device.start(model, options.get("log_path"), options.get("logs"), options.get("cores"), detached=detached)
        device.set(model, floor_ns=_floor_ns(device, model, options.get("floor_ns")))
        if detached:
            device.leave()
    except BaseException:
        device.down()
        raise
    return device


def name_of(model: DeviceModel) -> str:
    """Returns the model's name in at most 32 characters that the name of a mounted device may have.

    >>> name_of(DeviceModel(name="my disk/1", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0))
    'my_disk_1'
    """
    return re.sub("[^A-Za-z0-9._-]", "_", model.name).lstrip("._-")[:_NAMED] or "device"


def attach(name: str | None, *, to_remove: bool = False) -> MountedDevice:
    """Returns a mounted device that another process has brought up, so that this process can use, change or remove it.

    If no device has that name, or if `name` is None and not exactly one device is mounted, TickdiskError is raised. It is also
    raised for a device that was taken down and of which parts are left, unless the caller wants to remove these.
    """
    record = find_record(name)
    if record.left and not to_remove:
        raise TickdiskError(record.still_in_use())
    return next(kind for backend, kind in _DEVICES.items() if backend == record.backend)(record)


def is_mounted(name: str) -> bool:
    """Returns whether a mounted device has this name."""
    return any(record.name == name for record in records())


def _floor_ns(device: MountedDevice, model: DeviceModel, floor_ns: int | None) -> int:
    """Returns the floor that is given or measured. A device without an emulator has no floor, so it is 0."""
    if not device.backend.abilities.changes_while_mounted:
        return 0
    return measure_floor(device, model) if floor_ns is None else floor_ns


def _check(backend: Backend, size_bytes: int, file_system: str | None, options: Options) -> None:
    if not backend.abilities.mounts:
        lack = "" if options.get("backend") else f" (fuse: {BACKENDS['fuse'].lacks(Machine())})"
        raise TickdiskError(
            f"no device can be mounted here by backend {backend.name}{lack}; `tickdisk doctor` says more, and "
            "`tickdisk replay --simulate` computes without one"
        )
    if backend.name not in (TREE, FOLDER) and options.get("backing") is not None:
        raise TickdiskError(f"backend {backend.name} has no backing folder; leave it out, or take backend tree or folder")
    volatile = options.get("volatile", False)
    if volatile and not backend.abilities.cuts_power:
        raise TickdiskError(f"backend {backend.name} cannot lose what was not flushed; leave volatile out, or take backend fuse")
    if options.get("filled", False) and not backend.abilities.block_device:
        raise TickdiskError(f"backend {backend.name} has no block device to fill; leave filled out, or take backend fuse")
    if backend.name == TREE and file_system is None:
        raise TickdiskError("a tree has no block device that could be left bare; take backend fuse")
    if file_system is not None and file_system not in MKFS:
        raise TickdiskError(f"unknown file system {file_system}; known are {', '.join(MKFS)}")
    if backend.abilities.block_device and file_system is not None and shutil.which(MKFS[file_system][0]) is None:
        raise TickdiskError(f"{MKFS[file_system][0]} is not installed; `tickdisk doctor` says what to install")
    if backend.name != TREE:  # A tree has no size of its own.
        _check_size(backend, size_bytes, file_system, options)


def _check_size(backend: Backend, size_bytes: int, file_system: str | None, options: Options) -> None:
    if size_bytes < 1 << 24 or size_bytes % _PAGE:
        raise TickdiskError(f"a device cannot have {size_bytes} bytes; give a multiple of {_PAGE} that is at least 16 MiB")
    if file_system is not None and size_bytes < LEAST_BYTES[file_system]:
        least = f"{LEAST_BYTES[file_system] >> 20}M"
        raise TickdiskError(f"{file_system} needs at least {least}, and the device has {size_bytes >> 20}M; give {least} or more")
    if backend.name == FOLDER:
        check_folder(options.get("backing"), size_bytes)
    else:
        check_memory(size_bytes, volatile=options.get("volatile", False))


def check_memory(size_bytes: int, *, volatile: bool = False) -> None:
    """Raises TickdiskError if a device does not fit into free memory, with twice its size if it is volatile."""
    available = next(
        int(line.split()[1]) << 10
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        if line.startswith("MemAvailable:")
    )
    needed = 2 * size_bytes if volatile else size_bytes  # If all is rewritten without a flush, the old content is kept, too.
    if needed > available:
        what = f"a {'volatile ' if volatile else ''}device of {size_bytes >> 20} MiB"
        raise TickdiskError(f"{what} does not fit into {available >> 20} MiB of free memory; it may need {needed >> 20} MiB")
