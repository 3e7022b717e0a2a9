"""The rights that parts of the project need, and that a container has only if it was started with certain arguments.

`doctor` shows them, and the workflow leaves out the studies that need a right which root does not have here.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tickdisk.experiment import Need
from tickdisk.foundation.machine import Machine

ContainerKind = Literal["podman", "docker", "apptainer"]
PRIVILEGED = "--privileged"
_SYS_ADMIN, _IPC_LOCK = "SYS_ADMIN", "IPC_LOCK"
# Nobody else sees the mount, because /sys is made private before. In a chroot the root cannot be made private.
_PRIVATE = ("unshare", "--mount", "--propagation", "unchanged", "sh", "-ec")
_OWN_MOUNT = (*_PRIVATE, "mount --make-rprivate /sys; mount -t tmpfs tickdisk /sys")
_OWN_NETWORK = ("unshare", "--net", "sh", "-ec", "ip link set lo up; echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6")


@dataclass(frozen=True)
class Right:
    """A right, with the part of the project that needs it, a way to try it, and the way to get it."""

    name: str
    without: str
    """Consequence of its absence, as a clause."""
    given: Callable[[Machine], bool]
    """Function that tries whether root has the right on a machine. It changes nothing there."""
    arguments: tuple[str, ...]
    """Arguments of `podman run` that give it. Each was tried."""
    elsewhere: str
    """The way to get it outside a container, as a clause."""
    needed_by: Need | None = None
    """Kind of studies that cannot run without it, or None if all can."""

    def could_be_given(self, machine: Machine) -> bool:
        """Returns whether the arguments would give root anything that it does not have. Otherwise something else forbids it."""
        capabilities = [words[1] for argument in self.arguments if (words := argument.split())[0] == "--cap-add"]
        return len(capabilities) < len(self.arguments) or not all(map(machine.is_capable, capabilities))


def _loops(machine: Machine) -> bool:
    """Tries the devices that the kernel has. A container has no files for them, and gets none for those that come later."""
    devices = machine.names("sys/block", "loop*")
    return machine.opens("dev/loop-control") and (
        not devices or any(machine.opens(f"dev/{name}", os.O_RDONLY) for name in devices)
    )


def _captures(machine: Machine) -> bool:
    return all(map(machine.is_capable, (_SYS_ADMIN, _IPC_LOCK)))


def _cgroups(machine: Machine) -> bool:
    mounts = (line.split() for line in machine.lines("proc/self/mounts"))
    return any(machine.may_write(words[1].removeprefix("/")) for words in mounts if words[2:3] == ["cgroup2"])


def _networks(machine: Machine) -> bool:
    return machine.opens("dev/net/tun") and machine.succeeds(*_OWN_NETWORK)


_ADMIN = (f"--cap-add {_SYS_ADMIN}",)
RIGHTS: tuple[Right, ...] = (
    Right(
        "mounts",
        "no device can be emulated",
        lambda machine: machine.succeeds(*_OWN_MOUNT),
        _ADMIN,
        "a security module of the kernel may forbid mounting",
        "devices",
    ),
    Right(
        "/dev/fuse",
        "no device can be emulated",
        lambda machine: machine.opens("dev/fuse"),
        ("--device /dev/fuse",),
        "`modprobe fuse` loads the module",
        "devices",
    ),
    Right(
        "loop devices",
        "emulated devices are no block devices, and the backend tree runs instead of fuse",
        _loops,
        (PRIVILEGED, "-v /dev:/dev"),
        "`modprobe loop` loads the module",
    ),
    Right(
        "idle cores",
        "idle cores sleep, so the emulator's latency is higher and varies",
        lambda machine: machine.opens("dev/cpu_dma_latency"),
        ("--device /dev/cpu_dma_latency",),
        "this kernel has no /dev/cpu_dma_latency",
    ),
    Right(
        "real time",
        "the emulator, fio and replays have no real-time priority, so they are late more often",
        lambda machine: machine.succeeds("chrt", "--fifo", "1", "true"),
        ("--cap-add SYS_NICE",),
        "the group of this process may have no real time (cpu.rt_runtime_us of cgroup v1)",
    ),
    Right(
        "networks",
        "network stacks cannot be compared",
        _networks,
        (*_ADMIN, "--cap-add NET_ADMIN", "--security-opt unmask=/proc/sys", "--device /dev/net/tun"),
        "`modprobe tun` loads the module for /dev/net/tun",
        "networks",
    ),
    Right(
        "BPF",
        "bpftrace cannot capture",
        _captures,
        (*_ADMIN, f"--cap-add {_IPC_LOCK}"),
        "root has lost capabilities here",
        "captures",
    ),
    Right(
        "cgroup v2",
        "bpftrace cannot tell a server from other processes",
        _cgroups,
        ("-v /sys/fs/cgroup:/sys/fs/cgroup",),
        "no cgroup v2 hierarchy is mounted that root can write",
        "captures",
    ),
)


def container_of(machine: Machine) -> ContainerKind | None:
    """Returns the program that made the container which a machine is, or None if it is no container."""
    marks: tuple[tuple[str, ContainerKind], ...] = (
        (".singularity.d", "apptainer"),
        ("run/.containerenv", "podman"),
        (".dockerenv", "docker"),
    )
    return next((kind for mark, kind in marks if machine.has(mark)), None)


def lacking(machine: Machine) -> dict[Need, str]:
    """Returns the kinds of studies that root cannot run on a machine, each with the reason as a clause.

    Other users have no entry, because they run the workflow by sudo.
    """
    found: dict[Need, str] = {}
    for right in RIGHTS if machine.user == 0 else ():
        if right.needed_by is not None and not right.given(machine):
            reason = f"{right.without}, because root lacks a right here ({right.name}); `tickdisk doctor` says more"
            found.setdefault(right.needed_by, reason)
    return found
