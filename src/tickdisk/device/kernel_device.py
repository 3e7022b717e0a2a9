"""The backends zram and null_blk, which put a file system on a block device of the kernel."""

from collections.abc import Sequence
from pathlib import Path

from tickdisk.device import kernel_block
from tickdisk.device.clean import end
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import DeviceSetting, MountedDevice
from tickdisk.device.mounts import mount, unmount
from tickdisk.device.status import DeviceStatus, EmulatorStatus
from tickdisk.foundation.errors import TickdiskError

_STEP_S = 5.0
_SECTOR = 512
_COUNTS = {"read": 0, "write": 4, "discard": 11, "flush": 15}
"""Place of each operation's number of requests in /sys/block/NAME/stat. The number of sectors is two places further on, except
for flushes, which have none (Documentation/block/stat.rst)."""

Counts = tuple[dict[str, int], dict[str, int]]
"""Numbers of requests and of bytes, each by operation."""


class KernelDevice(MountedDevice):
    """A mounted device of the backend zram or null_blk, which the kernel serves without an emulator.

    It has no floor, no log and no stalls, and keeps one model from `up` to `down`.
    """

    @property
    def block_device(self) -> Path:
        """The path of the kernel's block device on which the file system lies. If it was not made, TickdiskError is raised."""
        if self._record.block is None:
            raise TickdiskError(f"device {self.name} has no block device; it is down")
        return self._record.block.path

    @property
    def daemon_pid(self) -> int:
        """Raises TickdiskError, because the device has no emulator."""
        raise TickdiskError(f"device {self.name} is the kernel's own and has no emulator; take backend fuse or tree")

    def start(
        self,
        model: DeviceModel,
        log_path: Path | None,
        logs: Path | None,  # noqa: ARG002 - no emulator writes output
        cores: Sequence[int] | None,  # noqa: ARG002 - the device runs on the core of its caller
        *,
        detached: bool,  # noqa: ARG002 - no process has to outlive its parent
    ) -> None:
        """Makes the block device and the file system. A `log_path` raises TickdiskError, because the kernel writes no log."""
        if log_path is not None:
            raise TickdiskError(f"backend {self.backend.name} keeps no log of requests; take backend fuse or tree")
        for folder in (self._record.folder, self._record.mount_point):
            folder.mkdir(parents=True, exist_ok=True)
        kernel_block.make(self._record, model)
        self._make_file_system()

    def leave(self) -> None:
        """Makes the device independent of this process, so that it stays until `down` or until the machine is shut down."""
        self._record.is_nobodys = True
        self._record.save()

    def set(self, model: DeviceModel, *, floor_ns: int) -> DeviceSetting:
        """Returns the setting in force, which is the only one, because the device cannot change while it is mounted.

        If `model` is another than the one that the device was made with, TickdiskError is raised.
        """
        self.backend.check_model(model)
        if not kernel_block.is_as(self._record, model):
            raise TickdiskError(f"a {self.backend.name} device does not change while it is mounted; take it down and up again")
        self._note(model)
        return DeviceSetting(1, 0, model.name, floor_ns)

    def stall(self, duration_ns: int) -> int:
        """Raises TickdiskError, because the device cannot be stalled."""
        raise TickdiskError(f"a {self.backend.name} device cannot be stalled for {duration_ns} ns; take backend fuse or tree")

    def status(self) -> DeviceStatus:
        """Returns the state of the device. Its counts are the kernel's, and begin when the block device is made."""
        requests, sizes = counts_of(self.block_device)
        return DeviceStatus(
            device=self._record.model,
            description=self._record.description,
            requests=requests,
            bytes=sizes,
            stalls=(),
            floor_ns=0,
            setting=1,
        )

    def emulator_status(self) -> EmulatorStatus:
        """Raises TickdiskError, because no process emulates the device."""
        raise TickdiskError(f"a {self.backend.name} device has no emulator; take backend fuse or tree")

    def alive(self) -> bool:
        """Returns whether the block device still exists."""
        return kernel_block.is_there(self._record)

    def remount(self) -> None:
        """Mounts the file system anew, so that its page cache is cold. If it is in use, TickdiskError is raised."""
        if not unmount(self.mount_point, self._unmount_limit_s(), lazily=False):
            raise TickdiskError(f"{self.mount_point} is in use; end the processes that use it before the remount")
        mount(str(self.block_device), self.mount_point, str(self._record.file_system))

    def _go_down(self) -> None:
        record = self._record
        for user in record.users:
            end(user)
        if record.file_system is not None and not unmount(record.mount_point, self._unmount_limit_s(), lazily=False):
            raise TickdiskError(f"{record.mount_point} is in use")
        if not kernel_block.remove(record, _STEP_S):
            raise TickdiskError(f"{self.block_device} is in use")
        record.remove()


def counts_of(block_device: Path) -> Counts:
    """Returns the numbers of requests and of bytes that the kernel has counted on a block device, each by operation."""
    counts = [int(word) for word in (Path("/sys/block") / block_device.name / "stat").read_text().split()]
    sizes = {op: counts[at + 2] * _SECTOR for op, at in _COUNTS.items() if op != "flush"}
    return {op: counts[at] for op, at in _COUNTS.items()}, sizes | {"flush": 0}
