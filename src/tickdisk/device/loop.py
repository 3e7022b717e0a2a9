"""Loop devices, handled by ioctl(2), with a mark that tells them from the loop devices of others."""

import errno
import fcntl
import os
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tickdisk.foundation.errors import TickdiskError

_CONTROL = Path("/dev/loop-control")
_LOOP_CTL_GET_FREE, _LOOP_CONFIGURE, _LOOP_CLR_FD, _LOOP_GET_STATUS64 = 0x4C82, 0x4C0A, 0x4C01, 0x4C05
_AUTOCLEAR, _DIRECT_IO = 4, 16
_INFO = struct.Struct("=5Q4I64s64s32s2Q")  # struct loop_info64
_FLAGS, _FILE_NAME = 8, 9
_SECTOR = 512
_IN_ORDER = "none"
_ATTEMPTS = 20


class LoopDevice:
    """A loop device, which makes a block device of a file, with direct I/O. A device of the backend fuse lies on one.

    The kernel detaches it when no process has it open and no file system on it is mounted, so after `close` and an unmount.
    """

    def __init__(self, file: Path, mark: str) -> None:
        """Attaches a free loop device to `file`. It stores 63 bytes of `mark`.

        If the file cannot be opened, no loop device can be attached, or the kernel refuses direct I/O, TickdiskError is raised.
        """
        try:
            backing = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise TickdiskError(
                f"cannot open {file} for a loop device: {error.strerror}; remove old devices with `tickdisk device recover`"
            ) from error
        try:
            self.number, self._descriptor = _attach(backing, mark)
        finally:
            os.close(backing)
        if not _info(self._descriptor)[_FLAGS] & _DIRECT_IO:
            self.close()
            raise TickdiskError("the loop device refuses direct I/O; Linux 5.10 or newer is needed")
        try:
            self.schedule(_IN_ORDER)
        except TickdiskError:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The path of the block device, such as /dev/loop0."""
        return device_path(self.number)

    def schedule(self, scheduler: str) -> None:
        """Lets the kernel order the requests by one of its schedulers. A new device has `none`, which keeps their order.

        Raises TickdiskError if the kernel does not have the scheduler.
        """
        path = Path(f"/sys/class/block/{self.path.name}/queue/scheduler")
        try:
            if f"[{scheduler}]" not in path.read_text(encoding="ascii"):
                path.write_text(scheduler, encoding="ascii")
        except OSError as error:
            raise TickdiskError(f"{path} does not take {scheduler}: {error.strerror}; take a kernel that has it") from error

    def close(self) -> None:
        """Closes the loop device for this process. If nothing else uses it, the kernel detaches it from its file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def device_path(number: int) -> Path:
    """Returns the path of the loop device with a given number, such as /dev/loop0 for 0."""
    return Path(f"/dev/loop{number}")


def is_ours(number: int, mark: str) -> bool:
    """Returns whether the loop device with this number is attached to a file and bears `mark`, such as `DeviceRecord.mark`."""
    try:
        descriptor = os.open(device_path(number), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return bool(_info(descriptor)[_FILE_NAME].rstrip(b"\0") == mark.encode())
    except OSError:
        return False
    finally:
        os.close(descriptor)


def detach(number: int, mark: str, limit_s: float) -> bool:
    """Detaches the loop device with this number from its file if it bears `mark`, and returns whether it is gone.

    It waits for at most `limit_s` seconds. A loop device without that mark is another's, is not touched, and counts as gone.
    """
    deadline = time.monotonic() + limit_s
    while is_ours(number, mark):
        with suppress(OSError):  # The device may have gone meanwhile, or be busy. The loop looks again in both cases.
            descriptor = os.open(device_path(number), os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.ioctl(descriptor, _LOOP_CLR_FD)
            finally:
                os.close(descriptor)
        if time.monotonic() > deadline:
            return not is_ours(number, mark)
        time.sleep(0.02)
    return True


def _attach(backing: int, mark: str) -> tuple[int, int]:
    information = _INFO.pack(0, 0, 0, 0, 0, 0, 0, 0, _AUTOCLEAR | _DIRECT_IO, mark.encode()[:63], b"", b"", 0, 0)
    request = struct.pack("=2I", backing, _SECTOR) + information + bytes(64)
    try:
        control = os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise TickdiskError(f"cannot open {_CONTROL}: {error.strerror}; run as root on a machine with loop devices") from error
    try:
        for _ in range(_ATTEMPTS):
            number = fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
            descriptor = os.open(device_path(number), os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(descriptor, _LOOP_CONFIGURE, request)
            except OSError as error:
                os.close(descriptor)
                if error.errno != errno.EBUSY:
                    raise
                time.sleep(0.02)  # Another process took the free device first.
            else:
                return number, descriptor
    except OSError as error:
        raise TickdiskError(f"cannot attach a loop device: {error.strerror}; free one (`losetup -a`) or run as root") from error
    finally:
        os.close(control)
    raise TickdiskError(f"other processes took every free loop device first, {_ATTEMPTS} times; try again")


def _info(descriptor: int) -> tuple[Any, ...]:
    return _INFO.unpack(fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_INFO.size)))
