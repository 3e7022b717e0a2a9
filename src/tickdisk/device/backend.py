"""The ways to have a device: what each can do, whether it works on a machine, and which one runs unless another is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from tickdisk.device.model import DeviceModel
from tickdisk.errors import TickdiskError
from tickdisk.machine import Machine

BackendName = Literal["fuse", "tree", "zram", "null_blk", "simulated"]
_CONFIGFS = "sys/kernel/config"
_MEMORY_BYTES_PER_S = 10**10
"""A bandwidth from here on is memory's own, which no backend of memory has to hold back."""


@dataclass(frozen=True)
class Abilities:
    """What a backend can do."""

    mounts: bool
    """There is a folder to put files in."""
    block_device: bool
    """There is a block device below it, with a file system of its own; `extents_of` and fio on the raw device need one."""
    needs_root: bool
    keeps_log: bool
    """Every request is recorded: `log_path`."""
    changes_while_mounted: bool
    """`set` takes another model while files are in use."""
    cuts_power: bool
    """What was not flushed can be dropped."""
    model: str
    """What it honours of a device model."""


@dataclass(frozen=True)
class Backend:
    """One way to have a device."""

    name: BackendName
    description: str
    abilities: Abilities
    lacks: Callable[[Machine], str | None]
    """What a machine lacks for it, None when it works there."""
    refuses: Callable[[DeviceModel], str | None]
    """What it cannot do of a model, None when it honours it."""

    def check_model(self, model: DeviceModel) -> None:
        """Raises TickdiskError when the backend cannot be that device."""
        if (reason := self.refuses(model)) is not None:
            raise TickdiskError(f"backend {self.name} cannot be device {model.name}: {reason}; take backend fuse")


def _fuse_lacks(machine: Machine) -> str | None:
    if machine.user != 0:
        return "it needs root, to mount; run as root, or take backend tree"
    if not machine.has("dev/fuse"):
        return "no /dev/fuse; modprobe fuse, or give it to the container"
    return None if machine.has("dev/loop-control") else "no /dev/loop-control; modprobe loop, or privileges for the container"


def _tree_lacks(machine: Machine) -> str | None:
    if not machine.may_use("dev/fuse"):
        there = machine.has("dev/fuse")
        return "/dev/fuse is root's alone; chmod 666 /dev/fuse" if there else "no /dev/fuse; give it to the container"
    if machine.user != 0 and machine.tool("fusermount3") is None:
        return "no fusermount3, the way to mount without root; install fuse3"
    if machine.user != 0 and not machine.has("etc/mtab"):
        return "no /etc/mtab, without which fusermount3 cannot unmount; as root: ln -s /proc/self/mounts /etc/mtab"
    return None


def _zram_lacks(machine: Machine) -> str | None:
    if machine.user != 0:
        return "it needs root, to mount"
    return None if machine.has("sys/class/zram-control/hot_add") else "no /sys/class/zram-control; modprobe zram"


def _null_blk_lacks(machine: Machine) -> str | None:
    if machine.user != 0:
        return "it needs root, to mount"
    if machine.has(f"{_CONFIGFS}/nullb"):
        return None
    if not machine.kernel_has("null_blk"):
        return "this kernel has no null_blk"
    return "not loaded; modprobe null_blk nr_devices=0, and mount configfs at /sys/kernel/config"


def _parts(model: DeviceModel) -> list[str]:
    """What a model has beside latencies and a bandwidth."""
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
    return None if model.seek is None else "its files have no places on a disk, which seek needs"


def _more_than_memory(model: DeviceModel) -> str | None:
    if any(latency != 0 for latency in _latencies(model)):
        return "it is as fast as memory, and has no latency"
    slow = model.bandwidth_bytes_per_s is not None and model.bandwidth_bytes_per_s < _MEMORY_BYTES_PER_S
    parts = [*_parts(model), *(["bandwidth"] if slow else [])]
    return f"it is as fast as memory, without {', '.join(parts)}" if parts else None


def _more_than_constant(model: DeviceModel) -> str | None:
    read, write, flush, _ = _latencies(model)
    if not (isinstance(read, int) and read == write == flush):
        return "it has one constant latency for reads, writes and flushes"
    parts = _parts(model)
    return f"it has no {', '.join(parts)}" if parts else None


def _nothing(_: object) -> None:
    return None


BACKENDS: Mapping[str, Backend] = MappingProxyType(
    {
        backend.name: backend
        for backend in (
            Backend(
                "fuse",
                "a file in memory behind FUSE, a loop device on it, a file system on that",
                Abilities(
                    mounts=True,
                    block_device=True,
                    needs_root=True,
                    keeps_log=True,
                    changes_while_mounted=True,
                    cuts_power=True,
                    model="all of it",
                ),
                _fuse_lacks,
                _nothing,
            ),
            Backend(
                "tree",
                "a FUSE file system on a backing folder, below the kernel's write-back cache",
                Abilities(
                    mounts=True,
                    block_device=False,
                    needs_root=False,
                    keeps_log=True,
                    changes_while_mounted=True,
                    cuts_power=False,
                    model="all of it but seek; names, sizes and journals cost nothing",
                ),
                _tree_lacks,
                _needs_places,
            ),
            Backend(
                "zram",
                "the kernel's disk in memory",
                Abilities(
                    mounts=True,
                    block_device=True,
                    needs_root=True,
                    keeps_log=False,
                    changes_while_mounted=False,
                    cuts_power=False,
                    model="none: as fast as memory",
                ),
                _zram_lacks,
                _more_than_memory,
            ),
            Backend(
                "null_blk",
                "the kernel's null block device, with memory behind it",
                Abilities(
                    mounts=True,
                    block_device=True,
                    needs_root=True,
                    keeps_log=False,
                    changes_while_mounted=False,
                    cuts_power=False,
                    model="one constant latency, and a bandwidth",
                ),
                _null_blk_lacks,
                _more_than_constant,
            ),
            Backend(
                "simulated",
                "no device: a replay's times are computed",
                Abilities(
                    mounts=False,
                    block_device=False,
                    needs_root=False,
                    keeps_log=False,
                    changes_while_mounted=False,
                    cuts_power=False,
                    model="all of it",
                ),
                _nothing,
                _nothing,
            ),
        )
    }
)
_BY_PREFERENCE: tuple[BackendName, ...] = ("fuse", "tree", "simulated")


def default_backend(machine: Machine | None = None) -> Backend:
    """Returns the backend that runs when none is named: the first of fuse, tree and simulated that works on the machine."""
    machine = Machine() if machine is None else machine
    return next(BACKENDS[name] for name in _BY_PREFERENCE if BACKENDS[name].lacks(machine) is None)


def find_backend(name: str | None, machine: Machine | None = None) -> Backend:
    """Returns the backend called `name`, the default for None; TickdiskError when it is unknown or does not work here."""
    machine = Machine() if machine is None else machine
    if name is None:
        return default_backend(machine)
    if name not in BACKENDS:
        raise TickdiskError(f"unknown backend {name}; known are {', '.join(BACKENDS)}")
    if (lack := BACKENDS[name].lacks(machine)) is not None:
        raise TickdiskError(f"backend {name} does not work here: {lack}")
    return BACKENDS[name]
