"""A mounted device on which fio runs jobs, one after another.

The load of the machine, and the requests and CPU time that the device counted, are recorded with each job. If the machine was too
loaded, the job is run again.
"""

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
"""Number of times that a job is repeated at most if the machine was too loaded."""
RAW_BYTES, SYNC_BYTES = 64 << 20, 8 << 20
"""Sizes of the file whose blocks raw jobs use, and of the file that is written through the page cache."""
_MINIMUM_RAW_BYTES = 16 << 20
_NOTHING: dict[str, Any] = {"requests": {}, "cpu_ns": 0}
_CROWDED_PER_S = 50_000
LIMITS = {"steal_share": 0.10, "pressure_memory_share": 0.05}
"""Shares of `host.Load` above which the machine counts as too loaded."""


@dataclass(frozen=True)
class Measured:
    """A job of fio that was run, with its requests, the counts of the device, and the load of the machine meanwhile."""

    job: Job
    requests: Requests
    """All requests, from the start of the job to its end."""
    device_requests: Mapping[str, int]
    """Requests that the device counted during the job, by operation. Empty if there was no emulated device."""
    cpu_ns: int
    """CPU time that the emulator's threads used during the job."""
    load: host.Load
    repeats: int
    """Earlier runs of the job that were dropped because the machine was too loaded."""
    too_loaded: bool
    """Whether the machine was too loaded also in this run."""


class Bench:
    """A mounted device on which fio runs jobs to measure it. fio runs on the cores that a game server would have.

    Raw jobs use a region of the block device that belongs to one file, and `pwrite_fsync` uses another file.
    """

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
        """Writes the two files that the jobs use to the device.

        Parameters
        ----------
        disk
            The mounted device.
        model
            Model that is in force on it.
        folder
            Folder of fio's files.
        limits
            Shares of `host.Load` above which a job is run again.
        repeats
            Number of times that a job is repeated at most.
        interrupts
            Whether fio always runs as a real-time thread. Otherwise, if it has one core of its own, it is a batch thread in jobs
            whose requests would wait for it (`needs_batch_thread`).
        """
        self.disk, self._model, self._folder, self._limits, self._repeats = disk, model, folder, dict(limits), repeats
        cores = host.split_cores()
        # If fio shares its core with the emulator and is no real-time thread, it waits for the emulator all the time. If fio has
        # several cores, one of them is free for the loop device's worker, which fio then does not disturb.
        self._interrupts = interrupts or len(cores.server) > 1 or not set(cores.server).isdisjoint(cores.others)
        self._model_folder = folder
        raw, self._sync_path = disk.mount_point / "calibration-raw", disk.mount_point / "calibration-sync"
        write_file(raw, RAW_BYTES)
        write_file(self._sync_path, SYNC_BYTES)
        # If the file system does not say where the file lies on the block device, fio uses the file itself, also past the page
        # cache.
        self._raw = raw_target(raw, disk.block_device, _MINIMUM_RAW_BYTES) if disk.tells_extents else Target(raw, 0, RAW_BYTES)

    def set(self, model: device.DeviceModel, *, floor_ns: int) -> device.Setting:
        """Lets the mounted device answer as another model says. fio's files go to a folder with the model's name from now on.

        Parameters
        ----------
        model
            The model.
        floor_ns
            Time in ns that the machine adds to the model's latency, and that is subtracted from it.

        Returns
        -------
        device.Setting
            The new setting.
        """
        self._model, self._model_folder = model, self._folder / model.name
        return self.disk.set(model, floor_ns=floor_ns)

    def run(self, job: Job) -> Measured:
        """Runs a job of fio on the device with the model that is in force, and repeats it while the machine is too loaded.

        Parameters
        ----------
        job
            The job.

        Returns
        -------
        Measured
            The last run, which is marked if the machine was still too loaded.
        """
        target = Target(self._sync_path, 0, SYNC_BYTES) if job.op == "pwrite_fsync" else self._raw
        return run_unloaded(
            job,
            target,
            self._model_folder,
            limits=self._limits,
            repeats=self._repeats,
            disk=self.disk,
            interrupts=self._interrupts or not needs_batch_thread(self._model, job),
        )


def needs_batch_thread(model: device.DeviceModel, job: Job) -> bool:
    """Returns whether fio should be a batch thread, because `model` completes more than 50,000 requests of `job` per second.

    As a real-time thread, fio would stop the loop device's worker on the same core for each request that completes while the
    worker hands on others. Each stop needs an interrupt, which takes some 12 us of either core in a guest, and all requests in
    flight wait for it. At lower rates such coincidences are rare, and a batch thread would be worse, because it waits for the
    kernel's other threads, at times for milliseconds.
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
    """Runs `job` of fio on `target` on the cores that a game server would have, again while the machine's load is above `limits`.

    The last of at most 1 + `repeats` runs is returned, and marked if the machine was too loaded in that run, too. If `disk` is
    given, its counts and its CPU time are recorded. `run_job` explains `interrupts`.
    """

    def run() -> Measured:
        meter, before = host.LoadMeter(), disk.status() if disk else _NOTHING
        requests = run_job(job, target, folder, cores=host.split_cores().server, interrupts=interrupts)
        load, after = meter.read(), disk.status() if disk else _NOTHING
        counts = {op: count - before["requests"][op] for op, count in after["requests"].items()}
        too_loaded = any(getattr(load, name) > limit for name, limit in limits.items())
        return Measured(job, requests, counts, after["cpu_ns"] - before["cpu_ns"], load, 0, too_loaded)

    measured, repeated = repeat_while_too_loaded(run, repeats)
    return replace(measured, repeats=repeated)


class _Run(Protocol):
    @property
    def too_loaded(self) -> bool:
        """Whether the load of the machine was above a limit."""


Ran = TypeVar("Ran", bound=_Run)


def repeat_while_too_loaded(run: Callable[[], Ran], repeats: int) -> tuple[Ran, int]:
    """Makes a measurement, and repeats it while the machine is too loaded, so that the result is undisturbed if possible.

    Parameters
    ----------
    run
        Function that measures once. Its result says whether the machine was too loaded.
    repeats
        Number of times that the measurement is repeated at most.

    Returns
    -------
    last, repeated
        Result of the last measurement, and the number of times that the measurement was repeated.
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
    """Brings an emulated device up until the end of the `with` block, with a bench that runs jobs of fio on it.

    At first the device has no delay, and `Bench.set` puts a model in force.

    Parameters
    ----------
    model
        Model whose name and description the device has at first.
    size_bytes
        Size of the device.
    folder
        Folder of fio's files and of the device's logs.
    limits
        Shares of `host.Load` above which a job is run again.
    log_path
        File for the device's log of requests. If None, there is no log.
    repeats
        Number of times that a job is repeated at most.
    interrupts
        Whether fio always runs as a real-time thread, as `Bench` explains.
    backend
        Name of the backend. If None, the first one that works on this machine is taken.
    file_system
        Kind of the file system on the device.

    Yields
    ------
    Bench
        The bench. The device is taken down at the end of the block, whatever happens.

    Raises
    ------
    TickdiskError
        If the backend cannot change the model of a mounted device, or if the device does not come up.
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
