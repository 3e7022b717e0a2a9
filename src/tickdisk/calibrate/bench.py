"""A device under fio: jobs run on it one after another, each with the machine's load and the device's own counts."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tickdisk import device, host
from tickdisk.calibrate.fio import Job, Requests, Target, run_job
from tickdisk.calibrate.nominal import served_per_s
from tickdisk.calibrate.region import raw_target, write_file
from tickdisk.errors import TickdiskError

REPEATS = 2
RAW_BYTES, SYNC_BYTES = 64 << 20, 8 << 20
_MINIMUM_RAW_BYTES = 16 << 20
_NOTHING: dict[str, Any] = {"requests": {}, "cpu_ns": 0}
_CROWDED_PER_S = 50_000
LIMITS = {"steal_share": 0.10, "pressure_memory_share": 0.05}


@dataclass(frozen=True)
class Measured:
    """A job that was run: its requests from start to end, what the device counted and spent, and the machine's load."""

    job: Job
    requests: Requests
    device_requests: Mapping[str, int]
    cpu_ns: int
    """CPU time of the emulator's threads."""
    load: host.Load
    repeats: int
    too_loaded: bool


class Bench:
    """A mounted device with a region for raw jobs and a file for `pwrite_fsync`; fio runs on the cores of a server."""

    def __init__(
        self,
        disk: device.MountedDevice,
        model: device.DeviceModel,
        folder: Path,
        limits: Mapping[str, float],
        repeats: int = REPEATS,
        *,
        interrupts: bool = False,
    ) -> None:
        """`model` is in force. fio `interrupts` always, or where that does not make requests wait for it (`waits_its_turn`)."""
        self.disk, self._model, self._folder, self._limits, self._repeats = disk, model, folder, dict(limits), repeats
        cores = host.split_cores()
        # On the emulator's core an ordinary fio would wait for it all the time; of several cores one is free for the worker.
        self._interrupts = interrupts or len(cores.server) > 1 or not set(cores.server).isdisjoint(cores.others)
        self._model_folder = folder
        raw, self._sync_path = disk.mount_point / "calibration-raw", disk.mount_point / "calibration-sync"
        write_file(raw, RAW_BYTES)
        write_file(self._sync_path, SYNC_BYTES)
        # Without extents that name places on the block device the file itself is the region: past the page cache all the same.
        self._raw = raw_target(raw, disk.block_device, _MINIMUM_RAW_BYTES) if disk.tells_extents else Target(raw, 0, RAW_BYTES)

    def set(self, model: device.DeviceModel, *, floor_ns: int) -> device.Setting:
        """Puts `model` in force; fio's files go to a folder of its name from now on."""
        self._model, self._model_folder = model, self._folder / model.name
        return self.disk.set(model, floor_ns=floor_ns)

    def run(self, job: Job) -> Measured:
        """Runs `job`, again while the machine was too loaded, at most `repeats` times; the last is kept and marked."""
        target = Target(self._sync_path, 0, SYNC_BYTES) if job.op == "pwrite_fsync" else self._raw
        return run_unloaded(
            job,
            target,
            self._model_folder,
            limits=self._limits,
            repeats=self._repeats,
            disk=self.disk,
            interrupts=self._interrupts or not waits_its_turn(self._model, job),
        )


def waits_its_turn(model: device.DeviceModel, job: Job) -> bool:
    """Returns whether fio is to wait its turn, for so many requests of `job` a second as `model` has it.

    As a real-time thread it would stop the loop device's worker, on the same core, for each request that completes while others
    are handed on: that takes an interrupt, in a guest some 12 us of either core, and all that are in flight wait for it. Of fewer
    requests a second few meet, and to wait for the kernel's other threads, milliseconds at times, is worse.
    """
    if job.queue_depth == 1 or job.pattern != "random":
        return False
    per_s = served_per_s(model, job)
    return per_s is None or per_s > _CROWDED_PER_S


def run_unloaded(
    job: Job,
    target: Target,
    folder: Path,
    *,
    limits: Mapping[str, float],
    repeats: int = REPEATS,
    disk: device.MountedDevice | None = None,
    interrupts: bool = True,
) -> Measured:
    """Returns `job` on `target` by fio on the cores of a server, run again while the machine's load was above `limits`.

    The last of at most 1 + `repeats` runs is kept, and marked if it, too, was too loaded; `disk` tells what it counted and spent.
    `run_job` explains `interrupts`.
    """

    def run() -> Measured:
        meter, before = host.LoadMeter(), disk.status() if disk else _NOTHING
        requests = run_job(job, target, folder, cores=host.split_cores().server, interrupts=interrupts)
        load, after = meter.read(), disk.status() if disk else _NOTHING
        counts = {op: count - before["requests"][op] for op, count in after["requests"].items()}
        too_loaded = any(getattr(load, name) > limit for name, limit in limits.items())
        return Measured(job, requests, counts, after["cpu_ns"] - before["cpu_ns"], load, 0, too_loaded)

    measured, repeated = until_unloaded(run, repeats)
    return replace(measured, repeats=repeated)


class _Run(Protocol):
    @property
    def too_loaded(self) -> bool:
        """Whether the machine's load was above a limit."""


Ran = TypeVar("Ran", bound=_Run)


def until_unloaded(run: Callable[[], Ran], repeats: int) -> tuple[Ran, int]:
    """Runs something again while the machine was too loaded, at most `repeats` times.

    Returns the last run, and how often it was repeated.
    """
    for repeated in range(repeats):
        made = run()
        if not made.too_loaded:
            return made, repeated
    return run(), repeats


@contextlib.contextmanager
def bench(
    model: device.DeviceModel,
    *,
    size_bytes: int,
    folder: Path,
    limits: Mapping[str, float],
    log_path: Path | None = None,
    repeats: int = REPEATS,
    interrupts: bool = False,
    backend: str | None = None,
    file_system: str = device.DEFAULT_FILE_SYSTEM,
) -> Iterator[Bench]:
    """Yields a bench on a device that is up, at memory speed at first; takes it down at the end, whatever happens.

    `Bench` explains `interrupts`.
    """
    if backend is not None and not device.find_backend(backend).abilities.changes_while_mounted:
        raise TickdiskError(f"backend {backend} cannot change while it is mounted, as a calibration needs; take fuse or tree")
    with device.up(
        model.unlimited(),
        backend=backend,
        size_bytes=size_bytes,
        file_system=file_system,
        floor_ns=0,
        log_path=log_path,
        logs=folder,
        cores=host.split_cores().others,
    ) as disk:
        yield Bench(disk, model.unlimited(), folder, limits, repeats, interrupts=interrupts)
