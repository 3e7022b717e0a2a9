"""Bring a device up, for as long as a `with` lasts or until somebody takes it down."""

import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tickdisk.device.clean import recover
from tickdisk.device.floor import measure_floor
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import MKFS, MountedDevice
from tickdisk.device.record import Record, find_record
from tickdisk.errors import TickdiskError

DEFAULT_SIZE_BYTES = 2 << 30
_PAGE = 4096
_count = itertools.count()


@contextmanager
def up(
    model: DeviceModel,
    *,
    size_bytes: int = DEFAULT_SIZE_BYTES,
    file_system: str | None = "ext4",
    floor_ns: int | None = None,
    name: str | None = None,
    log_path: Path | None = None,
    logs: Path | None = None,
    cores: Sequence[int] | None = None,
    mount_point: Path | None = None,
    volatile: bool = False,
) -> Iterator[MountedDevice]:
    """Yields an emulated device with an empty file system, in force as `model`; afterwards it is gone, whatever happened.

    `floor_ns` None measures the floor first (some seconds). `log_path`, on tmpfs, gets a record of every request (`read_log`).
    `logs` gets the emulator's output; `cores` are the ones it may run on. `file_system` None leaves the bare block device. A
    `volatile` device loses at a `cut` what was not flushed. What a dead process left is removed first. TickdiskError says what
    this machine lacks.
    """
    device = bring_up(
        model,
        size_bytes=size_bytes,
        file_system=file_system,
        floor_ns=floor_ns,
        name=name,
        log_path=log_path,
        logs=logs,
        cores=cores,
        mount_point=mount_point,
        volatile=volatile,
    )
    try:
        yield device
    finally:
        device.down()


def bring_up(
    model: DeviceModel,
    *,
    size_bytes: int = DEFAULT_SIZE_BYTES,
    file_system: str | None = "ext4",
    floor_ns: int | None = None,
    name: str | None = None,
    log_path: Path | None = None,
    logs: Path | None = None,
    cores: Sequence[int] | None = None,
    mount_point: Path | None = None,
    volatile: bool = False,
    detached: bool = False,
) -> MountedDevice:
    """Returns a device that is up; `detached`, it stays when this process ends. The caller takes it down."""
    _check(size_bytes, file_system, volatile=volatile)
    recover()
    name = name or f"{model.name}-{os.getpid()}-{next(_count)}"
    record = Record.new(name, size_bytes, file_system, mount_point, volatile=volatile)
    if record.path.exists():
        raise TickdiskError(f"device {name} is already up; choose another name, or take it down")
    device = MountedDevice(record)
    record.save()
    try:
        device.start(log_path, logs, cores, detached=detached)
        device.set(model, floor_ns=measure_floor(device, model) if floor_ns is None else floor_ns)
        if detached:
            device.leave()
    except BaseException:
        device.down()
        raise
    return device


def attach(name: str | None) -> MountedDevice:
    """Returns the device called `name` that another process brought up, or the only one there is."""
    return MountedDevice(find_record(name))


def _check(size_bytes: int, file_system: str | None, *, volatile: bool) -> None:
    if os.geteuid() != 0:
        raise TickdiskError("an emulated device needs root, to mount it; run as root")
    if not Path("/dev/fuse").exists():
        raise TickdiskError("this machine has no /dev/fuse; `modprobe fuse`, or give it to the container")
    if file_system is not None and file_system not in MKFS:
        raise TickdiskError(f"unknown file system {file_system}; known are {', '.join(MKFS)}")
    if file_system is not None and shutil.which(MKFS[file_system][0]) is None:
        raise TickdiskError(f"{MKFS[file_system][0]} is not installed; `tickdisk doctor` says what to install")
    if size_bytes < 1 << 24 or size_bytes % _PAGE:
        raise TickdiskError(f"a device of {size_bytes} bytes: the size is a multiple of {_PAGE}, and at least 16 MiB")
    available = next(
        int(line.split()[1]) << 10
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        if line.startswith("MemAvailable:")
    )
    needed = 2 * size_bytes if volatile else size_bytes  # all of it, once more, when all was written again and nothing flushed
    if needed > available:
        what = f"a {'volatile ' if volatile else ''}device of {size_bytes >> 20} MiB"
        raise TickdiskError(f"{what} does not fit into {available >> 20} MiB of free memory; it may need {needed >> 20} MiB")
