"""One server life on an emulated device, from the copy of the world to its record."""

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from tickdisk import device
from tickdisk.foundation import clock, host, memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child
from tickdisk.manifest import PlayedLife
from tickdisk.run.actors import instruments
from tickdisk.run.captures import LifeCaptures
from tickdisk.run.cuts import CutImages
from tickdisk.run.limits import Limits, groups_of, limited
from tickdisk.run.neighbours import Neighbours
from tickdisk.run.play import play
from tickdisk.run.played import played_world
from tickdisk.run.record import CpuRecorder
from tickdisk.run.recover import recover_all
from tickdisk.run.stage import APART_LOG, DEVICE_LOG, Stage
from tickdisk.run.trace import write_life_trace
from tickdisk.run.write import Ending, write_life
from tickdisk.server import MARKERS_FOLDER, RunningServer, Server, copy_world, first_thread, place_apart, read_world

_STOP_S = 60.0
_EMULATORS = ("emulator", "emulator_apart")
"""Names of the emulators of both devices in the table `load`."""
_FIRST_TICK_S = 2.0
"""Time within which a probe has written the first ticks of a server that accepts players."""
_COPIED, _FILE_MIB = "copied", 16
"""The folder beside the world that backups copy, and the size of each of its files in MiB."""
_BACKUP_SCHEDULER = "mq-deadline"
"""The scheduler of the disk in a life with backups. Without one, the kernel would not know of an idle priority."""
_BEFORE = 1 << 32
"""Stands for the number of an epoch before the first epoch."""


def run_life(stage: Stage) -> PlayedLife:
    """Plays one server life on its emulated device, writes its tables into `stage.folder`, and returns its record.

    A slow disk may let the server end in the middle of the life. This is a result: `ended` says when, and the tables have
    everything until then. Raises InstrumentError if an instrument fails in the middle, and TickdiskError if the server does not
    start.
    """
    stage.folder.mkdir(parents=True)
    stage.raw.mkdir()
    world = stage.world() if not stage.life.cuts_s else played_world(stage, stage.world())
    trace = write_life_trace(stage.trace, stage.cell, stage.life, read_world(world))
    with memory.folder() as fast, clock.Sampler() as clocks, CpuRecorder() as cpu:
        images = CutImages(stage.life, fast)
        captures = LifeCaptures(stage.tools, fast, stage.logs, host.split_cores().others, cpu, stage.server.classify)
        ending = _live(stage, world, fast, captures, cpu, images)
        record = write_life(stage, trace, ending, fast, clocks, captures, cpu)
        if stage.life.cuts_s:
            recover_all(stage, images.taken, record)
        return record


def _live(stage: Stage, generated: Path, fast: Path, captures: LifeCaptures, cpu: CpuRecorder, images: CutImages) -> Ending:
    """Brings the device up, starts the server on it, lets the players play, ends the server, and takes the device down.

    `generated` is the folder of the world, and the folder `fast` takes what the programs record.
    """
    first, cores, is_cut = stage.life.first_arm, host.split_cores(), bool(stage.life.cuts_s)
    with captures, ExitStack() as mounted:
        disk = mounted.enter_context(stage.mounted(stage.logs, log_path=fast / DEVICE_LOG, volatile=is_cut))
        apart = (stage.mounted(stage.logs / "apart", log_path=fast / APART_LOG, volatile=is_cut),) if stage.names_apart else ()
        disks = images.disks = (disk, *map(mounted.enter_context, apart))
        neighbours = Neighbours(stage)
        if stage.makes_backups:
            disk.schedule(_BACKUP_SCHEDULER)
        world, *worlds = _copy_world(stage, generated, disk, disks[1:], neighbours.instances)
        if stage.traces_blocks:
            captures.trace_blocks(disk.block_device)
        meter = host.LoadMeter(programs=True)
        if stage.real_disk is None:
            for name, each in zip(_EMULATORS, disks, strict=False):
                cpu.follow(name, each.daemon_pid)
        group = limited(stage, mounted)
        if stage.life.memory == "warm":
            _read_all(world, stage.logs, groups_of(group))
        with captures.around_start(first):
            running = stage.server.start(
                world,
                port=stage.project.config.port,
                folder=fast,
                logs=stage.logs,
                cores=cores.server,
                save_period_s=stage.save_period_s,
                settings=stage.settings,
                groups=groups_of(group),
            )
        mounted.callback(running.kill)
        running.delay_actions(stage.action_delay_ms(first))
        captures.follow(running.pid)
        others = neighbours.start(worlds, fast, cpu, mounted)
        neighbours.make_backups(disk.mount_point / _COPIED, mounted)
        for each, pid in product(disks, (*running.pids, *others)):
            each.add_user(pid)
        cpu.follow("server", running.pid)
        if running.database is not None:
            cpu.follow("database", running.database.child.pid, children=True)
        if (thread := _tick_thread(stage.server, running)) is not None:
            cpu.follow("tick thread", running.pid, thread=thread)
        with instruments(*disks):
            limits = Limits(stage, group)
            limits.begin()
            played = play(stage, disks, running, world, fast, captures, cpu, images, neighbours, limits)
            quota = limits.read()
            problems = running.stop(_STOP_S)
            captures.end()
            neighbours.stop(_STOP_S)
            load, statuses = meter.read(), tuple(each.status() for each in disks)
    return Ending(running, thread, world, played, problems, load, statuses, disk.file_system, quota, neighbours)


def _copy_world(
    stage: Stage, generated: Path, disk: device.MountedDevice, apart: Sequence[device.MountedDevice], further: Sequence[int]
) -> list[Path]:
    """Copies the world to the device once for each server, and returns the folders of the copies.

    Files that lie apart go to the other device, if any. `further` has the numbers of the servers beside the first.

    The device has no delay while the copy is made. Afterwards the file system is mounted anew, so that all is written and the
    page cache is cold. The device rests for a while (`Stage.settle_s`), and is then that of the life's first arm. Raises
    TickdiskError if the world does not fit.
    """
    disk.set(stage.models[stage.life.first_arm].unlimited(), floor_ns=0)
    target = disk.mount_point / "world"
    targets = [target, *(disk.mount_point / f"world{number}" for number in further)]
    try:
        for each in targets:
            copy_world(generated, each)
        if stage.makes_backups:
            _write_random(disk.mount_point / _COPIED, stage.copied_mib)
    except OSError as error:
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise TickdiskError(
            f"cannot copy the world to the device ({first}); if it is full, raise device_size_mib in workflow/config/config.yaml"
        ) from error
    for other in apart:
        place_apart(target, stage.names_apart, other.mount_point)
    for each_disk in (disk, *apart):
        each_disk.remount()
    time.sleep(stage.settle_s)
    for each_disk in (disk, *apart):
        stage.set(each_disk, stage.life.first_arm, _BEFORE)
    return targets


def _write_random(folder: Path, size_mib: int) -> None:
    """Writes a folder of random bytes, in files of 16 MiB, which cannot be compressed and are not in memory after the remount."""
    folder.mkdir()
    for number in range(0, size_mib, _FILE_MIB):
        (folder / str(number)).write_bytes(os.urandom(min(_FILE_MIB, size_mib - number) << 20))


def _read_all(world: Path, logs: Path, groups: Sequence[Path]) -> None:
    """Lets a process in some cgroups read the files of a world, so that the page cache has them, where they count for these.

    Only the files of markers stay cold, as the device must see that they are read.
    """
    paths = [path for path in sorted(world.rglob("*")) if path.is_file() and path.parent != world / MARKERS_FOLDER]
    with Child("warm", ["sha256sum", *paths], logs, groups=groups) as reader:
        if (code := reader.wait(_STOP_S)) != 0:
            raise TickdiskError(f"the world in {world} could not be read into memory (exit code {code}): {reader.tail(1)}")


def _tick_thread(kind: Server, running: RunningServer) -> int | None:
    """Returns the identity of the thread in which a running server ticks, so that its processor time can be sampled.

    Returns None if there is no such thread, or if the probe does not tell it within 2 s.
    """
    if kind.ticking.thread is not None:
        return host.thread_named(running.pid, kind.ticking.thread)
    until = time.monotonic() + _FIRST_TICK_S
    while time.monotonic() < until and running.alive():
        if (thread := first_thread(running.tick_log)) is not None:
            return thread
        time.sleep(0.05)
    return None
