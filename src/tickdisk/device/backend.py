"""The backends, which are the ways to have an emulated device, with their abilities and the choice of the one that runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from tickdisk.device.model import DeviceModel
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.machine import Machine

BackendName = Literal["fuse", "tree", "zram", "null_blk", "folder", "simulated"]
_CONFIGFS, _NO_ROOT = "sys/kernel/config", "it needs root to mount"
_MEMORY_BYTES_PER_S = 10**10
"""Bandwidth that memory itself has. A model with at least this bandwidth needs no backend that limits transfers."""


@dataclass(frozen=True)
class Abilities:
    """The abilities of a backend. `tickdisk device backends` prints them, and `bring_up` refuses options that need others."""

    model: str
    """The parts of a device model that the backend honours, in words for people. `Backend.refuses` decides it for a model."""
    mounts: bool = True
    block_device: bool = True
    """Whether the file system lies on a block device. `extents_of` and fio on the raw device need one."""
    needs_root: bool = True
    keeps_log: bool = False
    """Whether every request is recorded in a log (option `log_path`)."""
    changes_while_mounted: bool = False
    """Whether `MountedDevice.set` takes another model while files are in use."""
    cuts_power: bool = False
    """Whether `MountedDevice.cut` can drop what was not flushed."""


@dataclass(frozen=True)
class Backend:
    """One way to have an emulated device, with its abilities and its needs. `BACKENDS` has all of them by name."""

    name: BackendName
    description: str
    abilities: Abilities
    lacks: Callable[[Machine], str | None]
    """Function that returns what a machine lacks for the backend, or None if the backend works there."""
    refuses: Callable[[DeviceModel], str | None]
    """Function that returns what the backend cannot do of a model, or None if it honours the whole model."""

    def check_model(self, model: DeviceModel) -> None:
        """Raises TickdiskError if the backend does not honour a part of the model."""
        if (reason := self.refuses(model)) is not None:
            raise TickdiskError(f"backend {self.name} cannot be device {model.name}: {reason}; take backend fuse")


def _may_not_mount(machine: Machine) -> str | None:
    if machine.user != 0:
        return _NO_ROOT
    return None if machine.is_capable("SYS_ADMIN") else "root may not mount here"


def _folder_lacks(machine: Machine) -> str | None:
    if (lack := _may_not_mount(machine)) is not None:
        return lack
    return None if machine.opens("dev/loop-control") else "/dev/loop-control cannot be opened"


def _fuse_lacks(machine: Machine) -> str | None:
    if machine.user != 0:
        return f"{_NO_ROOT}; run as root, or take backend tree"
    if not machine.opens("dev/fuse"):
        return "/dev/fuse cannot be opened"
    return _folder_lacks(machine)


def _tree_lacks(machine: Machine) -> str | None:
    if machine.user == 0 and (lack := _may_not_mount(machine)) is not None:
        return lack
    if not machine.opens("dev/fuse"):
        only_root = machine.user != 0 and machine.has("dev/fuse")
        return "only root may use /dev/fuse; `chmod 666 /dev/fuse`" if only_root else "/dev/fuse cannot be opened"
    if machine.user != 0 and machine.tool("fusermount3") is None:
        return "there is no fusermount3, which mounts without root; install fuse3"
    if machine.user != 0 and not machine.has("etc/mtab"):
        return "there is no /etc/mtab, and fusermount3 cannot unmount without it; run `ln -s /proc/self/mounts /etc/mtab` as root"
    return None


def _zram_lacks(machine: Machine) -> str | None:
    if (lack := _may_not_mount(machine)) is not None:
        return lack
    return None if machine.has("sys/class/zram-control/hot_add") else "there is no /sys/class/zram-control; run `modprobe zram`"


def _null_blk_lacks(machine: Machine) -> str | None:
    if (lack := _may_not_mount(machine)) is not None:
        return lack
    if machine.has(f"{_CONFIGFS}/nullb"):
        return None
    if not machine.kernel_has("null_blk"):
        return "this kernel has no null_blk"
    return "null_blk is not loaded; run `modprobe null_blk nr_devices=0`, and mount configfs at /sys/kernel/config"


def _parts(model: DeviceModel) -> list[str]:
    """Returns the names of the parts that a model has besides latencies and a bandwidth."""
    named = {
        "channels": model.channels is not None,
        "load": bool(model.load),
        "credits": bool(model.credits),
        "seek": model.seek is not None,
        "stalls": model.stalls is not None,
        "cache": model.cache is not None,
        "burn": model.burn_ns > 0,
    }
    return [name for name, there in named.items() if there]


def _latencies(model: DeviceModel) -> list[object]:
    return [model.read_latency_ns, model.write_latency_ns, model.flush_latency_ns, model.discard_latency_ns]


def _needs_places(model: DeviceModel) -> str | None:
    return None if model.seek is None else "seek needs places on a disk, and the files of a tree have none"


def _more_than_memory(model: DeviceModel) -> str | None:
    if any(_latencies(model)):
        return "the backend is as fast as memory and cannot add a latency"
    slow = model.bandwidth_bytes_per_s is not None and model.bandwidth_bytes_per_s < _MEMORY_BYTES_PER_S
    parts = [*_parts(model), *(["bandwidth"] if slow else [])]
    return f"the backend is as fast as memory and cannot emulate {', '.join(parts)}" if parts else None


def _more_than_constant(model: DeviceModel) -> str | None:
    read, write, flush, _ = _latencies(model)
    if not (isinstance(read, int) and read == write == flush):
        return "the backend has one constant latency for reads, writes and flushes"
    parts = _parts(model)
    return f"the backend cannot emulate {', '.join(parts)}" if parts else None


def _more_than_itself(model: DeviceModel) -> str | None:
    slows = any(_latencies(model)) or model.bandwidth_bytes_per_s is not None or bool(_parts(model))
    return "the backend is a real disk, whose speed cannot be set" if slows else None


def _nothing(_: object) -> None:
    return None


BACKENDS: Mapping[str, Backend] = MappingProxyType(
    {
        backend.name: backend
        for backend in (
            Backend(
                "fuse",
                "a file in memory behind FUSE, a loop device on it, a file system on that",
                Abilities("all of it", keeps_log=True, changes_while_mounted=True, cuts_power=True),
                _fuse_lacks,
                _nothing,
            ),
            Backend(
                "tree",
                "a FUSE file system on a backing folder, below the kernel's write-back cache",
                Abilities(
                    "all of it except seek, while names, sizes and journals cost nothing",
                    block_device=False,
                    needs_root=False,
                    keeps_log=True,
                    changes_while_mounted=True,
                ),
                _tree_lacks,
                _needs_places,
            ),
            Backend(
                "zram",
                "the kernel's disk in memory",
                Abilities("nothing, because it is as fast as memory"),
                _zram_lacks,
                _more_than_memory,
            ),
            Backend(
                "null_blk",
                "the kernel's null block device, with memory behind it",
                Abilities("one constant latency, and a bandwidth"),
                _null_blk_lacks,
                _more_than_constant,
            ),
            Backend(
                "folder",
                "a real disk: a file in a folder of it, a loop device on that, a file system on that",
                Abilities("nothing, because the disk is as fast as it is"),
                _folder_lacks,
                _more_than_itself,
            ),
            Backend(
                "simulated",
                "no mounted device, because the times of a replay are computed",
                Abilities("all of it", mounts=False, block_device=False, needs_root=False),
                _nothing,
                _nothing,
            ),
        )
    }
)
_BY_PREFERENCE: tuple[BackendName, ...] = ("fuse", "tree", "simulated")


def default_backend(machine: Machine | None = None) -> Backend:
    """Returns the first of fuse, tree and simulated that works on a machine, which is this machine if it is None."""
    machine = Machine() if machine is None else machine
    return next(BACKENDS[name] for name in _BY_PREFERENCE if BACKENDS[name].lacks(machine) is None)


def find_backend(name: str | None, machine: Machine | None = None) -> Backend:
    """Returns the backend with a given name, or the default backend if it is None.

    If the name is unknown, or the backend does not work on the machine (this machine if None), TickdiskError is raised.
    """
    machine = Machine() if machine is None else machine
    if name is None:
        return default_backend(machine)
    if name not in BACKENDS:
        raise TickdiskError(f"unknown backend {name}; known are {', '.join(BACKENDS)}")
    if (lack := BACKENDS[name].lacks(machine)) is not None:
        raise TickdiskError(f"backend {name} does not work here: {lack}; `tickdisk doctor` says more")
    return BACKENDS[name]
