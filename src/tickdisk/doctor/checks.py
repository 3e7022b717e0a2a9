"""The checks of hardware, kernel and programs, with the packages that would add what is missing."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tickdisk import server
from tickdisk.foundation.machine import Machine
from tickdisk.foundation.memory import LEAST_BYTES, MEMORY, MORE_MEMORY, SHM_SIZE, free_bytes
from tickdisk.rights import RIGHTS, Right, container_of

State = Literal["ok", "missing", "limited"]
_LEAST_CORES = 2
_LEAST_MEMORY_GIB = 3.5
_KIB_PER_GIB = 1 << 20
_RUN = ("podman", "docker")
"""The kinds of containers that take the arguments of `Right.arguments`."""
_MOVED = {"usr/share/games/minetest/games/minetest_game": "usr/share/luanti/games/minetest_game"}
"""Other places of files that servers need: Luanti's game has a new one from Debian 13. Live cells do not depend on this module.
They would all run again if `tickdisk.server` changed."""


@dataclass(frozen=True)
class Check:
    """The result of one check of `tickdisk doctor`.

    With the state `missing`, `make paper` cannot run. With `limited`, it runs without something that `detail` names.
    """

    name: str
    state: State
    detail: str
    """Words for the user: the part that was found, or the one that is lacking and how to get it."""
    packages: tuple[str, ...] = ()
    """Debian and Ubuntu packages that would help."""
    arguments: tuple[str, ...] = ()
    """Arguments of `podman run` that would help, if the machine is a container of podman or docker."""


def _needed(name: str, there: object, detail: str, otherwise: str, *packages: str) -> Check:
    return Check(name, "ok", detail) if there else Check(name, "missing", otherwise, packages)


def examine(machine: Machine) -> list[Check]:
    """Checks the hardware, the kernel and the programs of a machine, in the order in which they are shown."""
    return [*_hardware(machine), *_emulation(machine), *_programs(machine), *_optional(machine)]


def _hardware(machine: Machine) -> Iterator[Check]:
    cores = sum(line.startswith("processor") for line in machine.lines("proc/cpuinfo"))
    memory = next(
        (int(line.split()[1]) / _KIB_PER_GIB for line in machine.lines("proc/meminfo") if line.startswith("MemTotal:")), 0.0
    )
    kernel = " ".join("".join(machine.lines("proc/sys/kernel/osrelease")).split())
    system = next(
        (line.split("=", 1)[1].strip('"') for line in machine.lines("etc/os-release") if line.startswith("PRETTY_NAME=")), "?"
    )
    enough = cores >= _LEAST_CORES and memory >= _LEAST_MEMORY_GIB
    detail = f"{cores} cores, {memory:.1f} GiB memory, Linux {kernel}, {system}"
    yield Check(
        "machine",
        "ok" if enough else "limited",
        detail if enough else f"{detail}; less than {_LEAST_CORES} cores or {_LEAST_MEMORY_GIB} GiB: expect invalid runs",
    )
    free = free_bytes(machine.root / MEMORY.relative_to("/"))
    room = f"{free / 1e6:.0f} MB free"
    yield Check(
        str(MEMORY),
        "ok" if free >= LEAST_BYTES else "limited",
        room if free >= LEAST_BYTES else f"{room}: captures are written to a disk, and logs of devices may be cut; {MORE_MEMORY}",
        arguments=(SHM_SIZE,) if free < LEAST_BYTES and container_of(machine) in _RUN else (),
    )


def _emulation(machine: Machine) -> Iterator[Check]:
    by_sudo = machine.user != 0 and machine.tool("sudo")
    yield (
        Check("root", "limited", "no: `make paper` asks sudo; write sudo before other commands that mount")
        if by_sudo
        else _needed("root", machine.user == 0, "yes", "no: run as root or install sudo, mounting needs it", "sudo")
    )
    yield from (_right(machine, right) for right in RIGHTS if machine.user == 0)
    systems, absent, packages = [], [], []
    for system, package in (("ext4", "e2fsprogs"), ("xfs", "xfsprogs"), ("btrfs", "btrfs-progs")):
        if not machine.kernel_has(system):
            absent.append(f"{system} (not in this kernel)")
        elif machine.tool(f"mkfs.{system}"):
            systems.append(system)
        else:
            absent.append(f"{system} (no mkfs.{system})")
            packages.append(package)
    detail = "; without ".join(part for part in (", ".join(systems), ", ".join(absent)) if part)
    yield Check("file systems", "missing" if "ext4" not in systems else "limited" if packages else "ok", detail, tuple(packages))


def _right(machine: Machine, right: Right) -> Check:
    """Returns the check of a right. Without it the workflow runs fewer studies, or measures less well."""
    if right.given(machine):
        return Check(right.name, "ok", "given")
    kind = container_of(machine)
    if kind in _RUN and right.could_be_given(machine):
        return Check(right.name, "limited", f"{right.without}; `{' '.join(right.arguments)}` gives it", arguments=right.arguments)
    untried = "how Apptainer gives it was not tried"
    return Check(right.name, "limited", f"{right.without}; {untried if kind == 'apptainer' else right.elsewhere}")


def _programs(machine: Machine) -> Iterator[Check]:
    fio = machine.tool("fio")
    yield _needed("fio", fio, machine.version(fio) if fio else "", "not installed: nothing can be calibrated", "fio")
    rsync = machine.tool("rsync")
    without = "not installed: the study of backups cannot run"
    yield Check("rsync", "ok" if rsync else "limited", machine.version(rsync) if rsync else without, () if rsync else ("rsync",))
    for kind in server.SERVERS.values():
        if kind.variant_of is None and not kind.supplied:
            yield _server(machine, kind)
    players = machine.project / "build/tickdisk-players"
    yield _needed("players", players.exists(), str(players), f"{players} is not built: make setup")
    yield _network(machine)
    native = next((machine.project / "src/tickdisk").glob("_native*.so"), None)
    yield _needed("native module", native, str(native), "not built: make setup")


def _server(machine: Machine, kind: server.Server) -> Check:
    """Returns the check of a game server. Without the first one nothing runs, and any other is left out of a run."""
    needs, name = kind.needs, f"{kind.title} server"
    built = machine.project / "build" / str(needs.built)
    program = machine.tool(*needs.commands) if needs.commands else built if built.exists() else None
    lacking = [path for path in needs.files if not machine.has(path) and not machine.has(_MOVED.get(path, path))]
    if program and not lacking:
        return Check(name, "ok", f"{machine.version(program)}, {program}" if needs.commands else str(program))
    absent = f"installed without {', '.join(f'/{path}' for path in lacking)}" if program else "not installed"
    if kind is next(iter(server.SERVERS.values())):
        return Check(name, "missing", absent, needs.packages)
    advice = "run `make setup`, which says why" if needs.built else "install it"
    return Check(name, "limited", f"{absent}: runs leave this server out; {advice}", needs.packages)


def _changes(machine: Machine) -> Iterator[Check]:
    """Yields the checks of the programs that changes of servers need. Only the study of changes tries them."""
    for kind in server.SERVERS.values():
        for name, change in kind.changes.items():
            if (needed := change.program) is not None:
                found = needed.found(machine.root)
                lack = f"not installed: the study changes cannot try {name} on {kind.title}, as SCALE=full does"
                yield (
                    Check(needed.title, "ok", str(found)) if found else Check(needed.title, "limited", lack, (needed.package,))
                )


def _network(machine: Machine) -> Check:
    tools = {"ip": "iproute2", "ethtool": "ethtool", "nsenter": "util-linux", "unshare": "util-linux"}
    absent = [tool for tool in tools if not machine.tool(tool)]
    program = machine.project / "build/tickdisk-netcode"
    if absent:
        packages = tuple(dict.fromkeys(tools[tool] for tool in absent))
        return Check("network stacks", "missing", f"without {', '.join(absent)} they cannot be compared", packages)
    return _needed("network stacks", program.exists(), str(program), f"{program} is not built: make setup")


def _tracing(machine: Machine) -> Check:
    """Returns the check of the tracers. It agrees with `trace.unavailable`, except that only root can look for tracepoints."""
    tracers = [tool for tool in ("bpftrace", "strace") if machine.tool(tool)]
    lacking = tuple(tool for tool in ("bpftrace", "strace") if tool not in tracers)
    needed = {
        "kernel types (BTF)": machine.has("sys/kernel/btf/vmlinux"),
        "x86_64": os.uname().machine == "x86_64",
    }
    absent = [name for name, there in needed.items() if not there]
    consequence = (
        f"without {', '.join(absent)} `make paper` cannot capture, and `tickdisk capture` has strace only"
        if absent
        else ", ".join(needed)
    )
    state: State = "missing" if "bpftrace" in lacking or absent else "limited" if lacking else "ok"
    return Check("tracing", state, f"{', '.join(tracers) or 'no tracer'}; {consequence}", lacking)


def _optional(machine: Machine) -> Iterator[Check]:
    toolchains: list[str] = []
    absent: list[str] = []
    for tool, argument in (("go", "version"), ("cargo", "--version")):
        path = machine.tool(tool)
        (toolchains if path else absent).append(f"{tool} {machine.version(path, argument)}" if path else tool)
    yield Check(
        "toolchains",
        "limited" if absent else "ok",
        ", ".join(toolchains) + ("" if not absent else f"; without {', '.join(absent)}: make setup gets them when it must build"),
    )
    yield _tracing(machine)
    qemu = machine.tool("qemu-system-x86_64")
    guest = f"QEMU {machine.version(qemu)}" if qemu else "no QEMU: backend null_blk cannot be tried out where the kernel has none"
    yield from _changes(machine)
    yield Check("guest", "ok" if qemu else "limited", guest, () if qemu else ("qemu-system-x86",))
