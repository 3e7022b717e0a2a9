"""Other ways to have a slow block device, called chains, which are measured for comparison: nbdkit and the kernel's null_blk."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from tickdisk import device
from tickdisk.calibrate import nbd
from tickdisk.calibrate.fio import Target
from tickdisk.calibrate.region import raw_target, write_file
from tickdisk.foundation import host
from tickdisk.foundation.machine import Machine

OtherChain = Literal["nbdkit", "null_blk"]
_RAW_BYTES, _MINIMUM_RAW_BYTES = 64 << 20, 16 << 20


@dataclass(frozen=True)
class Chain:
    """A way to have a slow block device that is not this project's emulator, and that is measured for comparison with it."""

    name: OtherChain
    parts: str
    """Description of the programs and devices that the chain consists of."""
    lacks: Callable[[], str | None]
    """Function that returns what this machine lacks for the chain, or None if the chain works on this machine."""
    up: Callable[[device.DeviceModel, Path, int], AbstractContextManager[Target]]
    """Function that brings a device up for the time of a block, from a model, a new folder for files and a size in bytes. It
    yields the part of the device that fio may read and write.
    """


def _nbdkit_lacks() -> str | None:
    if lacks := nbd.missing():
        return f"{' and '.join(lacks)} not installed"
    return None if Machine().has("dev/loop-control") else "no loop devices"


@contextmanager
def _nbdkit(model: device.DeviceModel, folder: Path, size_bytes: int) -> Iterator[Target]:
    with nbd.nbd_chain(model, folder, size_bytes, cores=host.split_cores().emulator) as target:
        yield target


@contextmanager
def _null_blk(model: device.DeviceModel, folder: Path, size_bytes: int) -> Iterator[Target]:
    folder.mkdir(parents=True)
    with device.up(model, backend="null_blk", size_bytes=size_bytes, logs=folder) as disk:
        raw = disk.mount_point / "raw"
        write_file(raw, _RAW_BYTES)
        yield raw_target(raw, disk.block_device, _MINIMUM_RAW_BYTES)


CHAINS: Mapping[str, Chain] = MappingProxyType(
    {
        chain.name: chain
        for chain in (
            Chain("nbdkit", "nbdkit's disk in memory, its filters delay and rate, nbdfuse, loop device", _nbdkit_lacks, _nbdkit),
            Chain(
                "null_blk",
                "the kernel's null_blk, completed by its timer",
                lambda: device.BACKENDS["null_blk"].lacks(Machine()),
                _null_blk,
            ),
        )
    }
)
