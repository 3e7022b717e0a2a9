"""Bring a device up, for as long as a `with` lasts or until somebody takes it down."""

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
from tickdisk.device.kernel_device import KernelDevice
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import MKFS, MountedDevice
from tickdisk.device.record import Record, find_record
from tickdisk.device.tree import TREE, TreeDevice
from tickdisk.errors import TickdiskError
from tickdisk.machine import Machine

DEFAULT_SIZE_BYTES = 2 << 30
DEFAULT_FILE_SYSTEM = "ext4"
_PAGE = 4096
_NAMED = 32
"""Letters of the model's name in a device's that got none."""
_DEVICES: dict[BackendName, type[MountedDevice]] = {
    "fuse": MountedDevice,
    "tree": TreeDevice,
    "zram": KernelDevice,
    "null_blk": KernelDevice,
}
_count = itertools.count()


class Options(TypedDict, total=False):
    """How a device is brought up, beside its model."""

    backend: str | None
    """One of `BACKENDS`; None or left out: `default_backend`."""
    size_bytes: int
    """2 GiB unless given; a tree is as large as its backing folder's file system."""
    file_system: str | None
    """ext4 unless given; None leaves the bare block device. A tree is a file system itself, and has no other on it."""
    floor_ns: int | None
    """What the emulator adds; None or left out: it is measured first (some seconds)."""
    name: str | None
    log_path: Path | None
    """A file on tmpfs that gets a record of every request (`read_log`)."""
    logs: Path | None
    """A folder that gets the emulator's output."""
    cores: Sequence[int] | None
    """The cores that the emulator may run on."""
    mount_point: Path | None
    volatile: bool
    """Whether a `cut` takes what was not flushed."""
    backing: Path | None
    """Where a tree's files are, and stay; None or left out: in memory, and gone with the device."""


@contextmanager
def up(model: DeviceModel, **options: Unpack[Options]) -> Iterator[MountedDevice]:
    """Yields a device with an empty file system, in force as `model`; afterwards it is gone, whatever happened.

    What a dead process left is removed first. TickdiskError says what this machine lacks, or what the backend cannot do.
    """
    device = bring_up(model, **options)
    try:
        yield device
    finally:
        device.down()


def bring_up(model: DeviceModel, *, detached: bool = False, **options: Unpack[Options]) -> MountedDevice:
    """Returns a device that is up; `detached`, it stays when this process ends. The caller takes it down."""
    backend = find_backend(options.get("backend"))
    size_bytes = options.get("size_bytes", DEFAULT_SIZE_BYTES)
    file_system = options.get("file_system", DEFAULT_FILE_SYSTEM)
    _check(backend, size_bytes, file_system, options)
    backend.check_model(model)
    recover()
    name = options.get("name") or f"{name_of(model)}-{os.getpid()}-{next(_count)}"
    on_it = file_system if backend.abilities.block_device else TREE
    record = Record.new(
        name, size_bytes, on_it, options.get("mount_point"), backend.name, volatile=options.get("volatile", False)
    )
    backing = options.get("backing")
    record.backing = None if backing is None else backing.resolve()
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
    """Returns what a device is called that got no name, as a part of it or by hand: the model's, in letters that a name has."""
    return re.sub("[^A-Za-z0-9._-]", "_", model.name).lstrip("._-")[:_NAMED] or "device"


def attach(name: str | None) -> MountedDevice:
    """Returns the device called `name` that another process brought up, or the only one there is."""
    record = find_record(name)
    return next(kind for backend, kind in _DEVICES.items() if backend == record.backend)(record)


def _floor_ns(device: MountedDevice, model: DeviceModel, floor_ns: int | None) -> int:
    """A device that has no emulator has no floor."""
    if not device.backend.abilities.changes_while_mounted:
        return 0
    return measure_floor(device, model) if floor_ns is None else floor_ns


def _check(backend: Backend, size_bytes: int, file_system: str | None, options: Options) -> None:
    if not backend.abilities.mounts:
        lack = "" if options.get("backend") else f" (fuse: {BACKENDS['fuse'].lacks(Machine())})"
        raise TickdiskError(
            f"no device can be mounted here by backend {backend.name}{lack}; `tickdisk replay --simulate` computes without one"
        )
    if backend.name != TREE and options.get("backing") is not None:
        raise TickdiskError(f"backend {backend.name} has no backing folder; leave it out, or take backend tree")
    volatile = options.get("volatile", False)
    if volatile and not backend.abilities.cuts_power:
        raise TickdiskError(f"backend {backend.name} cannot lose what was not flushed; leave volatile out, or take backend fuse")
    if backend.name == TREE and file_system is None:
        raise TickdiskError("a tree has no block device to leave bare; take backend fuse")
    if file_system is not None and file_system not in MKFS:
        raise TickdiskError(f"unknown file system {file_system}; known are {', '.join(MKFS)}")
    if backend.abilities.block_device and file_system is not None and shutil.which(MKFS[file_system][0]) is None:
        raise TickdiskError(f"{MKFS[file_system][0]} is not installed; `tickdisk doctor` says what to install")
    if backend.name == TREE:
        return  # it is as large as its files
    if size_bytes < 1 << 24 or size_bytes % _PAGE:
        raise TickdiskError(f"a device of {size_bytes} bytes: the size is a multiple of {_PAGE}, and at least 16 MiB")
    check_memory(size_bytes, volatile=volatile)


def check_memory(size_bytes: int, *, volatile: bool = False) -> None:
    """Raises TickdiskError where a device of that size does not fit into the memory that is free now."""
    available = next(
        int(line.split()[1]) << 10
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        if line.startswith("MemAvailable:")
    )
    needed = 2 * size_bytes if volatile else size_bytes  # all of it, once more, when all was written again and nothing flushed
    if needed > available:
        what = f"a {'volatile ' if volatile else ''}device of {size_bytes >> 20} MiB"
        raise TickdiskError(f"{what} does not fit into {available >> 20} MiB of free memory; it may need {needed >> 20} MiB")
