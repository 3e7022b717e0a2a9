"""A mounted device on which fio runs jobs, with the load of the machine and the counts of the device during each."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from tickdisk import device
from tickdisk.calibrate.fio import Job, Requests, Target, run_job
from tickdisk.calibrate.nominal import served_per_s
from tickdisk.calibrate.region import raw_target, write_file
from tickdisk.foundation import host
from tickdisk.foundation.errors import TickdiskError

REPEATS = 2
"""Number of times that a job is repeated at most if the machine was too loaded."""
RAW_BYTES, SYNC_BYTES = 64 << 20, 8 << 20
"""Sizes of the file whose blocks raw jobs use, and of the file that is written through the page cache."""
_MINIMUM_RAW_BYTES = 16 << 20
_CROWDED_PER_S = 50_000
LIMITS = {"steal_share": 0.10, "pressure_memory_share": 0.05}
"""Shares of `host.MachineLoad` above which the machine counts as too loaded."""


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
    load: host.MachineLoad
    repeats: int
    """Earlier runs of the job that were dropped because the machine was too loaded."""
    too_loaded: bool
    """Whether the machine was too loaded also in this run."""


class Bench:
    """A mounted device on which fio runs jobs to measure it, on the cores that a game server would have.

    Raw jobs use a region of the block device that belongs to one file, and `pwrite_fsync` uses another file. `folder` gets fio's
    files. A job is repeated at most `repeats` times while the load exceeds `limits`, which are shares of `host.MachineLoad`.
    If `interrupts` is set, fio always runs as a real-time thread. Otherwise, if it has one core of its own, it is a batch thread
    in jobs whose requests would wait for it (`needs_batch_thread`).
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
        """Writes the two files that the jobs use to the device `disk`, on which `model` is in force."""
        self.disk, self._model, self._folder, self._limits, self._repeats = disk, model, folder, dict(limits), repeats
        cores = host.split_cores()
        # If fio shares its core with the emulator and is no real-time thread, it waits for the emulator all the time. If fio has
        # several cores, one of them is free for the loop device's worker, which fio then does not disturb.
        self._interrupts = interrupts or len(cores.server) > 1 or not set(cores.server).isdisjoint(cores.emulator)
        self._model_folder = folder
        raw, self._sync_path = disk.mount_point / "calibration-raw", disk.mount_point / "calibration-sync"
        write_file(raw, RAW_BYTES)
        write_file(self._sync_path, SYNC_BYTES)
        # If the file system does not say where the file lies on the block device, fio uses the file itself, also past the page
        # cache.
        self._raw = raw_target(raw, disk.block_device, _MINIMUM_RAW_BYTES) if disk.tells_extents else Target(raw, 0, RAW_BYTES)

    def set(self, model: device.DeviceModel, *, floor_ns: int) -> device.DeviceSetting:
        """Puts `model` in force, with `floor_ns` subtracted. fio's files go to a folder with its name from now on."""
        self._model, self._model_folder = model, self._folder / model.name
        return self.disk.set(model, floor_ns=floor_ns)

    def run(self, job: Job) -> Measured:
        """Runs a job of fio, again while the machine is too loaded. Returns the last run, which may be marked."""
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
        meter, before = host.LoadMeter(), disk.emulator_status() if disk else None
        requests = run_job(job, target, folder, cores=host.split_cores().server, interrupts=interrupts)
        load, after = meter.read(), disk.emulator_status() if disk else None
        counts, cpu_ns = dict[str, int](), 0
        if before is not None and after is not None:
            counts = {op: count - before.requests[op] for op, count in after.requests.items()}
            cpu_ns = after.cpu_ns - before.cpu_ns
        too_loaded = any(getattr(load, name) > limit for name, limit in limits.items())
        return Measured(job, requests, counts, cpu_ns, load, 0, too_loaded)

    measured, repeated = repeat_while_too_loaded(run, repeats)
    return replace(measured, repeats=repeated)


class _Run(Protocol):
    @property
    def too_loaded(self) -> bool:
        """Whether the load of the machine was above a limit."""


Ran = TypeVar("Ran", bound=_Run)


def repeat_while_too_loaded(run: Callable[[], Ran], repeats: int) -> tuple[Ran, int]:
    """Calls `run`, at most `repeats` times more, until the machine was not too loaded in a call.

    It returns the result of the last call and the number of times that `run` was called again.
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
    """Brings an emulated device up until the end of the `with` block, and yields a bench that runs jobs of fio on it.

    At first the device has the name of `model` and no delay, and `Bench.set` puts a model in force. `folder` gets fio's files and
    the device's output. If `log_path` is None, the device keeps no log of requests. If `backend` is None, the first one that
    works on this machine is taken. The other arguments are those of `Bench`.

    If the backend cannot change the model of a mounted device, or the device does not come up, TickdiskError is raised.
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
        cores=host.split_cores().emulator,
    ) as disk:
        yield Bench(disk, model.unlimited(), folder, limits, repeats, interrupts=interrupts)
