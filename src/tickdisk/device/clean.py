"""The removal of a device from any state in which it can be left.

Each step has a time limit, and no step touches anything that Tickdisk did not make. The order of the steps keeps the device's
users out of uninterruptible sleep. First the emulator is killed, so that its requests fail, and the FUSE connection is aborted in
case they did not. Then the users are killed, the file system is unmounted, the loop device is detached, and FUSE is unmounted.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tickdisk.device import kernel_block, loop
from tickdisk.device.backing import made_backing
from tickdisk.device.control import answers
from tickdisk.device.mounts import mount, mounts, unmount
from tickdisk.device.record import DeviceRecord, records
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity, boot_id, pid_namespace

_END_S, _UNMOUNT_S, _DETACH_S = 5.0, 1.0, 2.0
_NOBODY = ProcessIdentity(pid=0, started=0)
_CONNECTIONS = Path("/sys/fs/fuse/connections")


def recover() -> list[str]:
    """Removes every mounted device whose owner has died, and returns a line for each thing that was removed.

    The owner is the process that brought the device up, or the emulator if the device was detached from that process. Devices
    from before the last start of the machine count as left behind, too. A line begins with the name of its device.
    """
    return [f"{record.name}: {line}" for record in records() if not _owned(record) for line in clean(record)]


def has_left() -> bool:
    """Returns whether parts of a device are left that was taken down, because processes use them."""
    return any(record.left for record in records())


def _owned(record: DeviceRecord) -> bool:
    if record.boot_id != boot_id():
        return False
    if record.pid_namespace != pid_namespace():
        # This process cannot see an owner in another pid namespace. An emulator that answers shows that its owner lives, because
        # it dies with its owner. A device without an emulator is left to its own namespace.
        return record.backend in (*kernel_block.KINDS, "folder") or answers(record.socket)
    return record.is_nobodys or record.owner.alive()


def clean(record: DeviceRecord) -> list[str]:
    """Removes a device with everything that its record names, and returns a line for each thing that was removed.

    The record names processes, mounts, block devices and files. The emulator and the recorded users are killed. A part that a
    process still has open, or that is mounted in another mount namespace, stays until it is no longer in use. A line on standard
    error names such parts, and the record stays for the next `recover`. They give only errors from now on, except for a zram
    device, which works until it is closed and goes only by `recover`.
    """
    removed: list[str] = []
    left: list[str] = []
    users: set[int] = set()
    if record.boot_id == boot_id():
        if record.pid_namespace == pid_namespace():
            removed += [f"emulator process {record.daemon.pid}"] if record.daemon and end(record.daemon) else []
        _abort(record)
        if record.pid_namespace == pid_namespace():
            removed += [f"process {user.pid}, which used it" for user in record.users if end(user)]
        users.update(users_of(record))
    # After a restart of the machine, only the files of a tree can be left over, if their folder is on a disk.
    for what, gone in _take_down(record) if record.boot_id == boot_id() else _remove_backing(record):
        (removed if gone else left).append(what)
    if left:
        # After the unmount the kernel no longer shows which of the device's files a process has open.
        using = map(ProcessIdentity.of, users.union(users_of(record)))
        record.cut_off = [user for user in {*record.cut_off, *using} if user is not None and user.alive()]
        record.owner, record.is_nobodys, record.left = _NOBODY, False, left
        print(f"tickdisk: {record.still_in_use()}", file=sys.stderr)
        record.save()
        return removed
    record.remove()
    return removed or ["its record"]


def end(process: ProcessIdentity) -> bool:
    """Kills a process by SIGKILL and waits until it is gone, for at most 5 s. Returns whether it was running before.

    A later process that has the same pid is not touched.
    """
    if not process.alive():
        return False
    with suppress(ProcessLookupError):  # The process may have just ended by itself.
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + _END_S
    while process.alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    return True


def users_of(record: DeviceRecord) -> list[int]:
    """Returns the pids of the processes that use a device and would therefore keep it from being unmounted, in rising order.

    A process uses the device if an open file, its program, its working folder or its root folder is on the device, or if the
    device is mounted in its mount namespace and that is not the namespace of this process. A process that only maps a closed
    file is not found.
    """
    pids = set()
    source = f" {_source(record)} "
    here = Path("/proc/self/ns/mnt").stat().st_ino
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                text = (process / "mountinfo").read_text(encoding="utf-8")
                elsewhere = source in text and (process / "ns/mnt").stat().st_ino != here
                links = [process / "cwd", process / "root", process / "exe", *(process / "fd").iterdir()]
                if elsewhere or any(_below(link, record.mount_point) for link in links):
                    pids.add(int(process.name))
    return sorted(pids)


def _source(record: DeviceRecord) -> str:
    """Returns the source of the mount on which the device's users have their files, as the kernel lists it."""
    if record.block is not None:
        return str(record.block.path)
    return record.mark if record.loop is None else str(loop.device_path(record.loop))


def _below(link: Path, mount_point: Path) -> bool:
    try:
        return link.readlink().is_relative_to(mount_point)
    except OSError:
        return False


def _abort(record: DeviceRecord) -> None:
    """Fails every request of the record's FUSE connection, which also ends the uninterruptible sleep of waiting processes."""
    ours = next(
        (mounted for mounted in mounts() if mounted.mount_point == record.fuse_mount and mounted.source == record.mark), None
    )
    if ours is None:
        return
    if _CONNECTIONS.is_dir() and not any(mounted.file_system == "fusectl" for mounted in mounts()):
        try:
            mount("fusectl", _CONNECTIONS, "fusectl")
        except TickdiskError:
            return  # A container may not mount it. There the emulator's death has closed the connection.
    abort = _CONNECTIONS / str(ours.minor) / "abort"
    with suppress(OSError):  # The connection may have gone meanwhile.
        abort.write_text("1", encoding="ascii")


def _take_down(record: DeviceRecord) -> Iterator[tuple[str, bool]]:
    """Removes the device's parts one after another, and yields a name of each part that existed and whether it is gone now."""
    yield from _take_loops_down(record)
    if any(mounted.mount_point == record.fuse_mount and mounted.source == record.mark for mounted in mounts()):
        yield f"FUSE mount at {record.fuse_mount}", unmount(record.fuse_mount, _UNMOUNT_S, lazily=True)
    if record.block is not None and record.block.there() and _is_mounted(record, str(record.block.path)):
        yield f"file system at {record.mount_point}", unmount(record.mount_point, _UNMOUNT_S, lazily=True)
    if record.backend in kernel_block.KINDS and kernel_block.is_there(record):
        yield f"block device {record.backend}", kernel_block.remove(record, _DETACH_S)
    yield from _remove_backing(record)


def _remove_backing(record: DeviceRecord) -> Iterator[tuple[str, bool]]:
    if (backing := made_backing(record)) is not None:
        shutil.rmtree(backing, ignore_errors=True)
        yield f"files in {backing}", not backing.exists()


def _take_loops_down(record: DeviceRecord) -> Iterator[tuple[str, bool]]:
    if record.loop is not None:
        source = str(loop.device_path(record.loop))
        is_mounted = _is_mounted(record, source)
        if is_mounted and loop.is_ours(record.loop, record.mark):
            yield f"file system at {record.mount_point}", unmount(record.mount_point, _UNMOUNT_S, lazily=True)
        if loop.is_ours(record.loop, record.mark):
            yield f"loop device {source}", loop.detach(record.loop, record.mark, _DETACH_S if is_mounted else 0)
    for number in record.old_loops:
        if loop.is_ours(number, record.mark):
            yield f"loop device {loop.device_path(number)} from before a power cut", loop.detach(number, record.mark, 0)


def _is_mounted(record: DeviceRecord, source: str) -> bool:
    return any(mounted.mount_point == record.mount_point and mounted.source == source for mounted in mounts())
