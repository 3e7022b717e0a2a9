"""The backends zram and null_blk, which put a file system on a block device of the kernel."""

from collections.abc import Sequence
from pathlib import Path

from tickdisk.device import kernel_block
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import DeviceSetting
from tickdisk.device.unemulated import UnemulatedDevice
from tickdisk.foundation.errors import TickdiskError

_STEP_S = 5.0


class KernelDevice(UnemulatedDevice):
    """A mounted device of the backend zram or null_blk."""

    @property
    def block_device(self) -> Path:
        """The path of the kernel's block device on which the file system lies. If it was not made, TickdiskError is raised."""
        if self._record.block is None:
            raise TickdiskError(f"device {self.name} has no block device; it is down")
        return self._record.block.path

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
        self._begin(log_path)
        kernel_block.make(self._record, model)
        self._make_file_system()

    def leave(self) -> None:
        """Makes the device independent of this process, so that it stays until `down` or until the machine is shut down."""
        self._record.is_nobodys = True
        self._record.save()

    def set(self, model: DeviceModel, *, floor_ns: int) -> DeviceSetting:
        """Returns the only setting. A model other than the one that the device was made with raises TickdiskError."""
        self.backend.check_model(model)
        if not kernel_block.is_as(self._record, model):
            raise TickdiskError(f"a {self.backend.name} device does not change while it is mounted; take it down and up again")
        return super().set(model, floor_ns=floor_ns)

    def alive(self) -> bool:
        """Returns whether the block device still exists."""
        return kernel_block.is_there(self._record)

    def remount(self) -> None:
        """Mounts the file system anew, so that its page cache is cold. If it is in use, TickdiskError is raised."""
        self._unmount_unused()
        self._mount()

    def _give_up_unused(self) -> None:
        super()._give_up_unused()
        if not kernel_block.remove(self._record, _STEP_S):
            raise TickdiskError(f"{self.block_device} is in use; end the processes that use it")
