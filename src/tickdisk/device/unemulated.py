"""Devices that the kernel serves without an emulator. Subclasses are for the backends zram, null_blk and folder."""

import time
from pathlib import Path

from tickdisk.device.clean import end
from tickdisk.device.log import OPS
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import DeviceSetting, MountedDevice
from tickdisk.device.record import DeviceRecord
from tickdisk.device.status import DeviceStatus, EmulatorStatus
from tickdisk.foundation.errors import TickdiskError

_SECTOR = 512
_COUNTS = {"read": 0, "write": 4, "discard": 11, "flush": 15}
"""Place of each operation's number of requests in /sys/block/NAME/stat. The number of sectors is two places further on, except
for flushes, which have none (Documentation/block/stat.rst)."""
_Counts = tuple[dict[str, int], dict[str, int]]
"""Numbers of requests and of bytes, each by operation."""


class UnemulatedDevice(MountedDevice):
    """A mounted device that no process emulates. It has no floor, no log and no stalls, and keeps one model while it is up."""

    def __init__(self, record: DeviceRecord) -> None:
        super().__init__(record)
        self._before: _Counts = dict.fromkeys(OPS, 0), dict.fromkeys(OPS, 0)
        """Counts of the kernel that are not of this device, because a loop device keeps those of its earlier files."""

    @property
    def daemon_pid(self) -> int:
        """Raises TickdiskError, because the device has no emulator."""
        raise self._cannot("has no emulator")

    def _cannot(self, what: str) -> TickdiskError:
        return TickdiskError(f"device {self.name} of backend {self.backend.name} {what}; take backend fuse or tree")

    def _begin(self, log_path: Path | None) -> None:
        """Makes the folders of the device. A `log_path` raises TickdiskError, because the kernel writes no log."""
        if log_path is not None:
            raise self._cannot("keeps no log of requests")
        for folder in (self._record.folder, self._record.mount_point):
            folder.mkdir(parents=True, exist_ok=True)

    def set(self, model: DeviceModel, *, floor_ns: int) -> DeviceSetting:
        """Returns the only setting, from now on. A model that the backend or the device cannot be raises TickdiskError."""
        self.backend.check_model(model)
        self._note(model)
        return DeviceSetting(1, time.monotonic_ns(), model.name, floor_ns)

    def stall(self, duration_ns: int) -> int:
        """Raises TickdiskError, because the device cannot be stalled."""
        raise self._cannot(f"cannot be stalled for {duration_ns} ns")

    def status(self) -> DeviceStatus:
        """Returns the state of the device. Its counts are the kernel's, and begin when the block device is made or attached."""
        (requests, sizes), (requests_before, sizes_before) = _counts_of(self.block_device), self._before
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
        """Raises TickdiskError, because no process emulates the device."""
        raise self._cannot("has no emulator")

    def _count_from_now(self) -> None:
        self._before = _counts_of(self.block_device)

    def _go_down(self) -> None:
        for user in self._record.users:
            end(user)
        self._give_up_unused()
        self._record.remove()


def _counts_of(block_device: Path) -> _Counts:
    """Returns the numbers of requests and of bytes that the kernel has counted on a block device, each by operation."""
    counts = [int(word) for word in (Path("/sys/block") / block_device.name / "stat").read_text().split()]
    sizes = {op: counts[at + 2] * _SECTOR for op, at in _COUNTS.items() if op != "flush"}
    return {op: counts[at] for op, at in _COUNTS.items()}, sizes | {"flush": 0}
