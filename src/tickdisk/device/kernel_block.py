"""Block devices that the kernel makes on request (zram and null_blk)."""

import errno
import time
from pathlib import Path
from typing import Protocol

from tickdisk.device.model import DeviceModel
from tickdisk.device.record import DeviceRecord, KernelBlock
from tickdisk.foundation.errors import TickdiskError

_ZRAM = Path("/sys/class/zram-control")
_NULL_BLK = Path("/sys/kernel/config/nullb")
_BYTES_PER_MIB = 1 << 20
"""Unit in bytes of null_blk's setting `mbps`."""
_AFTER_A_TIMER = 2
"""Value of null_blk's setting `irqmode` with which `completion_nsec` is honoured."""
_DEPTH = 1024


class KernelDriver(Protocol):
    """The operations on one kind of the kernel's block devices, zram or null_blk. The record names the block device."""

    def make(self, record: DeviceRecord, model: DeviceModel) -> None:
        """Makes a block device of the record's size that behaves as `model`, and saves its name in the record."""

    def is_there(self, record: DeviceRecord) -> bool:
        """Returns whether the record's block device exists."""

    def remove(self, record: DeviceRecord) -> None:
        """Removes the record's block device, if it exists. While the block device is in use, OSError is raised."""

    def is_as(self, record: DeviceRecord, model: DeviceModel) -> bool:
        """Returns whether the record's block device already behaves as `model`."""


class _Zram:
    def make(self, record: DeviceRecord, model: DeviceModel) -> None:  # noqa: ARG002 - zram is as fast as memory, whatever the model
        number = int((_ZRAM / "hot_add").read_text(encoding="ascii"))
        record.block = KernelBlock.named(f"zram{number}")
        record.save()
        Path(f"/sys/block/zram{number}/disksize").write_text(str(record.size_bytes), encoding="ascii")

    def is_there(self, record: DeviceRecord) -> bool:
        return record.block is not None and record.block.there()

    def remove(self, record: DeviceRecord) -> None:
        if record.block is not None and record.block.there():
            Path(f"/sys/block/{record.block.name}/reset").write_text("1", encoding="ascii")
            (_ZRAM / "hot_remove").write_text(record.block.name.removeprefix("zram"), encoding="ascii")

    def is_as(self, record: DeviceRecord, model: DeviceModel) -> bool:  # noqa: ARG002 - `Backend.check_model` has refused all others
        return True


class _NullBlk:
    def make(self, record: DeviceRecord, model: DeviceModel) -> None:
        folder = self._folder(record)
        folder.mkdir()
        settings = {
            "size": record.size_bytes // _BYTES_PER_MIB,
            "blocksize": 512,
            "memory_backed": 1,
            "irqmode": _AFTER_A_TIMER,
            "hw_queue_depth": _DEPTH,
            **self._settings(model),
            "power": 1,
        }
        for name, value in settings.items():
            (folder / name).write_text(str(value), encoding="ascii")
        # Until Linux 6.0 the device has the name of its number, and since then that of its folder.
        numbered = f"nullb{(folder / 'index').read_text(encoding='ascii').strip()}"
        named = folder.name if (Path("/sys/block") / folder.name).exists() else numbered
        record.block = KernelBlock.named(named)
        record.save()

    def is_there(self, record: DeviceRecord) -> bool:
        return self._folder(record).exists()

    def remove(self, record: DeviceRecord) -> None:
        folder = self._folder(record)
        if folder.exists():
            (folder / "power").write_text("0", encoding="ascii")
            folder.rmdir()

    def is_as(self, record: DeviceRecord, model: DeviceModel) -> bool:
        folder = self._folder(record)
        return all(int((folder / name).read_text(encoding="ascii")) == value for name, value in self._settings(model).items())

    @staticmethod
    def _folder(record: DeviceRecord) -> Path:
        """Returns the folder that configures the record's device. Its name marks the device as one of Tickdisk."""
        return _NULL_BLK / f"tickdisk_{record.name}"

    @staticmethod
    def _settings(model: DeviceModel) -> dict[str, int]:
        bandwidth = model.bandwidth_bytes_per_s
        return {
            "completion_nsec": model.latency_ns[0],
            "mbps": 0 if bandwidth is None else max(1, round(bandwidth / _BYTES_PER_MIB)),
        }


KINDS: dict[str, KernelDriver] = {"zram": _Zram(), "null_blk": _NullBlk()}


def make(record: DeviceRecord, model: DeviceModel) -> None:
    """Makes a record's device and saves its name in the record. If the kernel refuses, TickdiskError is raised."""
    try:
        KINDS[record.backend].make(record, model)
    except OSError as error:
        raise TickdiskError(
            f"the kernel refuses to make a {record.backend} device: {error}; `tickdisk doctor` says what this machine has"
        ) from error


def is_there(record: DeviceRecord) -> bool:
    """Returns whether the zram or null_blk device of a record exists."""
    return KINDS[record.backend].is_there(record)


def is_as(record: DeviceRecord, model: DeviceModel) -> bool:
    """Returns whether a record's device already behaves as `model`. If not, it has to be made again, as it cannot be changed."""
    return KINDS[record.backend].is_as(record, model)


def remove(record: DeviceRecord, limit_s: float) -> bool:
    """Removes the device of a record, which is tried for `limit_s` seconds while it is in use. Returns whether it is gone."""
    deadline = time.monotonic() + limit_s
    while KINDS[record.backend].is_there(record):
        try:
            KINDS[record.backend].remove(record)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EAGAIN) or time.monotonic() > deadline:
                return False
            time.sleep(0.02)
    return True
