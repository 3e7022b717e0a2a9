"""The commands `tickdisk device ...`, with which a person uses emulated devices by hand."""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tickdisk import device
from tickdisk.cli.order import InOrder
from tickdisk.cli.places import DEVICES, check_output, in_project
from tickdisk.cli.progress import say
from tickdisk.cli.sizes import bytes_of
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.machine import Machine
from tickdisk.foundation.numbers import number
from tickdisk.foundation.record import plain

app = typer.Typer(no_args_is_help=True, help="Mount an emulated storage device, change it while it is mounted, and remove it.")
_LONG_S = 1.5
"""A measurement that takes longer, in seconds, is announced."""
_LONGEST_STALL_MS = device.LONGEST_NS // 1_000_000
_Devices = Annotated[Path, typer.Option(help="File that describes the devices.")]
_Name = Annotated[str | None, typer.Argument(help="Name of the mounted device. It is needed only if several are mounted.")]
_Tier = Annotated[
    str, typer.Argument(help="A device in data/devices.yaml, e.g. hdd, or a file with one device, e.g. ./mydisk.yaml.")
]
_REFERENCE = Path("data/reference/paper")
"""The reference run that says from which latency on a server suffers."""
_MOUNTING = ", ".join(name for name, backend in device.BACKENDS.items() if backend.abilities.mounts)
_BACKENDS_HELP = f"One of {_MOUNTING}. By default, the first of fuse and tree that works here."


@app.command()
def up(
    tier: _Tier,
    *,
    size: Annotated[str, typer.Option(help="Size, e.g. 512M or 2G. Memory is taken only for what is written.")] = "2G",
    at: Annotated[Path | None, typer.Option(help="Mount point. By default, a folder below /run/tickdisk.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the mounted device. By default, the name of its description.")] = None,
    file_system: Annotated[str, typer.Option(help=f"One of {', '.join(device.MKFS)}.")] = "ext4",
    log: Annotated[
        Path | None, typer.Option(help="File for a log with a record of every request. It should be on tmpfs.")
    ] = None,
    volatile: Annotated[
        bool, typer.Option("--volatile", help="Let `cut` lose what was not flushed, whether or not the device has a cache.")
    ] = False,
    backend: Annotated[str | None, typer.Option(help=_BACKENDS_HELP)] = None,
    backing: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps the files of a device of the backend tree. By default, they are in memory."),
    ] = None,
    devices: _Devices = DEVICES,
    as_json: Annotated[bool, typer.Option("--json", help="Print name, mount point, backend and file system as JSON.")] = False,
) -> None:
    """Mounts an emulated storage device that is as slow as its description says. It stays until `tickdisk device down`.

    Standard output has the mount point alone; a description goes to standard error.
    """
    model = device.named(tier, in_project(devices))
    if log is not None:
        check_output(log)
    if device.find_backend(backend).abilities.changes_while_mounted:
        _announce(model)
    disk = device.bring_up(
        model,
        backend=backend,
        size_bytes=bytes_of(size, "--size"),
        file_system=file_system,
        name=name or device.name_of(model),
        mount_point=at,
        log_path=log,
        volatile=volatile,
        backing=backing,
        detached=True,
    )
    block_device = str(disk.block_device) if disk.backend.abilities.block_device else None
    if as_json:
        mounted = {"backend": disk.backend.name, "file_system": disk.file_system, "block_device": block_device}
        told = {"name": disk.name, "mount_point": str(disk.mount_point), "device": model.name, "description": model.description}
        print(json.dumps({**told, **mounted}, indent=2))
    else:
        print(f"{disk.name}: {model.description}, {_made_of(disk)}", file=sys.stderr)
        print(disk.mount_point)
    if disk.backend.abilities.keeps_log:
        _warn_of_floor(model, disk.status().floor_ns)


@app.command()
def backends() -> None:
    """Lists the backends, which are the ways to emulate a device: what each is and can do, and whether it works here."""
    default, machine = device.default_backend(), Machine()
    for name, backend in device.BACKENDS.items():
        lack, can = backend.lacks(machine), backend.abilities
        here = "runs unless another is named" if name == default.name else "works here" if lack is None else f"not here: {lack}"
        abilities = {
            "block device": can.block_device,
            "needs root": can.needs_root,
            "log of requests": can.keeps_log,
            "changes while mounted": can.changes_while_mounted,
            "power can be cut": can.cuts_power,
        }
        answers = ", ".join(f"{what}: {'yes' if there else 'no'}" for what, there in abilities.items())
        print(f"{name}: {backend.description}; {here}\n  honours of a model: {can.model}; {answers}")


@app.command("set")
def set_model(tier: _Tier, name: _Name = None, *, devices: _Devices = DEVICES) -> None:
    """Turns a mounted device into another device while it stays mounted, for example a fast disk into a slow one.

    Its files are kept. Requests that follow meet the new device.
    """
    try:
        model = device.named(tier, in_project(devices))
    except TickdiskError as error:
        if name is None or not device.is_mounted(tier):
            raise
        right = f"tickdisk device set {shlex.quote(name)} {shlex.quote(tier)}"
        raise TickdiskError(f"{tier} is mounted, and its name stands behind that of the new device; write `{right}`") from error
    disk = device.attach(name)
    fixed = not disk.backend.abilities.changes_while_mounted
    if not fixed:
        _announce(model)
    setting = disk.set(model, floor_ns=0 if fixed else device.measure_floor(disk, model))
    print(f"{disk.name}: now {model.name}, {model.description or 'not described'} (setting {setting.number} of this mount)")
    _warn_of_floor(model, setting.floor_ns)


@app.command()
def status(name: _Name = None) -> None:
    """Prints the state of a mounted device as JSON, with its median latencies, its settings and the counters of its requests."""
    disk = device.attach(name)
    block_device = str(disk.block_device) if disk.backend.abilities.block_device else None
    where = {"name": disk.name, "backend": disk.backend.name, "mount_point": str(disk.mount_point), "block_device": block_device}
    print(json.dumps({**where, "latency_ns": disk.latency_ns, **plain(disk.status())}, indent=2))


@app.command(cls=InOrder)
def stall(
    milliseconds: Annotated[int, typer.Argument(min=1, max=_LONGEST_STALL_MS, help="Length of the stall in milliseconds.")],
    name: _Name = None,
) -> None:
    """Makes a mounted device stall: from its next request on, it starts no request for the given time."""
    disk = device.attach(name)
    disk.stall(milliseconds * 1_000_000)
    print(f"{disk.name}: its next request begins a stall of {milliseconds} ms")


@app.command()
def cut(
    name: _Name = None,
    *,
    keep: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the unflushed pages that survive. They are drawn at random.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, max=(1 << 64) - 1, help="Seed of the random choice of pages.")] = 0,
) -> None:
    """Cuts the power of a mounted device, switches it on and mounts it again, to test what a program loses.

    Data that was not flushed is lost, except for the share that --keep names. The number of lost pages is printed.
    """
    disk = device.attach(name)
    lost = disk.cut(keep, seed)
    print(
        f"{disk.name}: {lost.pages_dropped} unflushed pages of 4 KiB lost, {lost.pages_kept} kept, "
        f"{lost.requests_failed} requests failed; mounted again at {disk.mount_point}, block device {disk.block_device}"
    )
    if lost.users:
        print(f"files that were open now give only errors (processes: {', '.join(map(str, lost.users))})")


@app.command()
def down(name: _Name = None) -> None:
    """Removes a mounted device with the files on it.

    If a process keeps a part of it in use, the process is named and the exit code is 1.
    """
    disk = device.attach(name, to_remove=True)
    if not disk.down():
        raise typer.Exit(1)
    print(f"{disk.name}: gone")


@app.command()
def recover() -> None:
    """Removes mounted devices that programs left behind when they died, and prints what was removed.

    Devices of programs that live stay, and so do those of `tickdisk device up` that still work. If a process keeps a part in use,
    the process is named and the exit code is 1, as by `down`.
    """
    removed, has_left = device.recover(), device.has_left()
    for line in removed or ([] if has_left else ["nothing was left"]):
        print(line)
    if has_left:
        raise typer.Exit(1)


@app.command()
def profile(
    path: Annotated[
        Path,
        typer.Argument(help="A folder on the disk, in which a file is made for the measurement, or a file, or a block device."),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help=f"File to write, NAME{device.FILE}.")],
    write: Annotated[
        bool | None,
        typer.Option(
            "--write/--no-write",
            help="Measure writes and flushes, too, because a save needs both. By default, they are measured only in a folder, in "
            "a new file. On a block device they overwrite its content. A file that exists is never written to.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            min=0.3, max=3600, help="Time of each job in all rounds together, in seconds. More than 12 seconds give more rounds."
        ),
    ] = 12,
    size: Annotated[
        str, typer.Option(help="Size of the file in a folder, e.g. 512M or 4G. It should be larger than the caches of the disk.")
    ] = "1G",
) -> None:
    """Measures a real disk and writes it down as a device, which `up`, `set` and experiments can emulate on any machine.

    It needs fio. It prints the latencies of the disk, the nearest known device, and what our reference run says of such a disk.
    """
    from tickdisk import profile as room

    check_output(output)
    writes = path.is_dir() if write is None else write
    profiled = room.profile(path, output, write=writes, seconds=seconds, size_bytes=bytes_of(size, "--size"), say=say)
    print(room.screen(profiled.model))
    print(room.again(profiled.measured))
    for line in _answer(profiled.model):
        print(line)
    place = output if output.parent != Path() or output.is_absolute() else f"./{output}"
    print(f"{output}: {profiled.model.description}; `tickdisk device up {shlex.quote(str(place))}` brings it up")


def _answer(model: device.DeviceModel) -> Iterator[str]:
    """Yields sentences about the latencies of a disk, the nearest device of the project, and what the reference run says."""
    from tickdisk import profile as room
    from tickdisk.report.answers import effects_of_disk
    from tickdisk.studies.statement import FACTS, read_facts

    answer = room.nearest_device(model, device.load_devices(in_project(DEVICES)))
    read = f"one at a time a read of 4 KiB takes {number(answer.read_ms)} ms"
    if answer.flushed_write_ms is None:
        yield f"{read} (median)"
        yield f"the device of {DEVICES} whose reads are nearest: {answer.nearest} ({answer.description})"
        yield "writes and flushes were not measured, so nothing is known about saves; measure them by --write"
        return
    yield f"{read}, and a write of 4 KiB with its flush {number(answer.flushed_write_ms)} ms (medians)"
    yield f"the nearest device of {DEVICES}: {answer.nearest} ({answer.description})"
    folder = in_project(_REFERENCE)
    if (folder / FACTS).exists():
        facts = read_facts(folder)
        source = f"our run of {facts['setup.server'].text} in {_REFERENCE}"
        yield from effects_of_disk(answer.slowest_ms, facts, source)


def _announce(model: device.DeviceModel) -> None:
    """Says how long it takes to measure what the machine adds to a slow device, so that nobody takes the wait for a fault."""
    seconds = device.seconds_of_round(model)
    if seconds > _LONG_S:
        words = f"measures what this machine adds to the {number(model.latency_ns[0] / 1e6)} ms of a request"
        print(f"{model.name}: {words}, for {seconds:.0f} s or more", file=sys.stderr)


def _made_of(disk: device.MountedDevice) -> str:
    on = f" on {disk.block_device}" if disk.backend.abilities.block_device else ""
    return f"backend {disk.backend.name}, {disk.file_system}{on}"


def _warn_of_floor(model: device.DeviceModel, floor_ns: int) -> None:
    if floor_ns > model.latency_ns[0]:
        words = (
            f"floor-limited: this machine adds {floor_ns / 1000:.0f} us to the {model.latency_ns[0] / 1000:g} us of the device"
        )
        print(words, file=sys.stderr)
