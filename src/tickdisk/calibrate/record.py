"""The content of `calibration.json`, and the functions with which other rooms look up floors and latencies in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from tickdisk.calibrate.fio import Op, Pattern
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record, read

SCHEMA_VERSION: Literal[3] = 3
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]


class JobResult(Record):
    """The realised and nominal figures of one fio job on one device, as an entry of `calibration.json`.

    Fields without `nominal` are realised, and loads are as in `host.MachineLoad`. docs/data.md describes every field.
    """

    job: str
    op: Op
    pattern: Pattern
    block_bytes: Annotated[int, Field(gt=0)]
    queue_depth: Annotated[int, Field(gt=0)]
    n: Annotated[int, Field(gt=0)]
    """Requests that completed after the ramp. The percentiles rest on them."""
    n_counted: Annotated[int, Field(gt=0)]
    """Requests from the start to the end of the job. fio's own count and the raw log agree on this number, or the job fails."""
    n_device: Mapping[str, int]
    """Requests that the device counted during the job, by operation: read, write, flush, discard."""
    p50_ns: Annotated[int, Field(gt=0)]
    p99_ns: int | None
    """99th percentile. None if fewer than ten requests lie beyond it, because it is then not estimable."""
    p999_ns: int | None
    iops: Positive | None
    """Requests per second from the start of the job to the last completion. None if that time is less than a millisecond."""
    bandwidth_bytes_per_s: Positive | None
    nominal_p50_ns: Count | None
    """Nominal median at queue depth 1. None for other depths, and for `pwrite_fsync`, because the file system decides how many
    requests it makes to the device."""
    nominal_iops: Positive | None
    """Nominal requests per second. None if the model sets no limit."""
    nominal_bandwidth_bytes_per_s: Positive | None
    compared: Literal["p50_ns", "iops", "bandwidth_bytes_per_s"] | None
    """The figure that is compared with the model: p50 at queue depth 1, requests per second above it, and bandwidth of sequential
    jobs."""
    ratio: float | None
    """Realised value of the compared figure, divided by its nominal value."""
    within_tolerance: bool | None
    steal_share: float
    pressure_cpu_share: float
    pressure_io_share: float
    pressure_memory_share: float
    repeats: Count
    """Times that the job was repeated because the machine was too loaded."""
    too_loaded: bool
    """Whether the machine was still too loaded at the last repeat, which was kept."""


class DeviceResult(Record):
    """The calibration of one device model on this machine: its floor, its realised median latency, and the results of its jobs.

    docs/data.md describes every field.
    """

    name: str
    model: Mapping[str, Any]
    latency_ns: Count
    """Nominal latency of a 4 KiB read on the idle device."""
    floor_ns: Count
    """Time that the machine adds to the model's latency, the excess of p50 at depth 1. It is subtracted from every deadline."""
    floor_looks: Annotated[int, Field(ge=1)]
    """Number of measurements of p50 until the floor was settled. The first was without a floor."""
    p50_ns: Annotated[int, Field(gt=0)]
    """Realised median at queue depth 1 with the floor subtracted, the mean of those of reads and writes."""
    cpu_ns_per_request: Annotated[float, Field(ge=0)]
    """CPU time of the emulator for a request at queue depth 1."""
    floor_limited: bool
    """Whether the model has nominal values that this machine does not reach."""
    reasons: list[str]
    """The nominal values that this machine does not reach, each with the value that it reaches."""
    jobs: list[JobResult]
    """The results of the jobs. Empty for a model of which only the floor and the CPU time were measured."""


class Calibration(Record):
    """The content of `calibration.json`: how fast emulated devices really are on this machine, and the floor of each.

    The raw latencies are in `calibration/requests.parquet` beside that file. docs/data.md describes every field.
    """

    schema_version: Literal[3]
    machine: Mapping[str, Any]
    backend: str
    file_system: str
    """File system on the devices. Raw jobs go to the block device below it. If the file system does not say where its files lie
    there, raw jobs go to a file past the page cache."""
    fio: str
    seconds_per_job: Positive
    ramp_s: Positive
    """Time that is cut from the start of every job."""
    started_unix_s: float
    wall_s: Positive
    limits: Mapping[str, float]
    """Shares of the machine's load above which a job was repeated."""
    arrivals_lack: str = ""
    """Reason why the kernel did not say when requests arrived, or an empty text if it did. If it did not, the time that the
    emulator takes to take a request is part of the floors."""
    requests: str
    """The table of raw latencies, relative to this file."""
    devices: list[DeviceResult]

    @property
    def floors_ns(self) -> dict[str, int]:
        """The floor of each device in ns, by the name of the device."""
        return {device.name: device.floor_ns for device in self.devices}

    def device(self, name: str) -> DeviceResult:
        """Returns the calibration of the device model `name`. If it was not calibrated, TickdiskError is raised."""
        for device in self.devices:
            if device.name == name:
                return device
        raise TickdiskError(
            f"the calibration has no device {name}, only {', '.join(self.floors_ns)}; run `tickdisk calibrate` again"
        )


def load_calibration(path: Path) -> Calibration:
    """Reads `calibration.json`. If it is missing or has another form, TickdiskError names the key that is wrong."""
    return read(Calibration, path, "remove the file and run `tickdisk calibrate`")


def floor_ns(calibration: Calibration, model: DeviceModel) -> int:
    """Returns the floor in ns of a model on this machine, which is interpolated if the model was not calibrated.

    If it has to be interpolated and no calibrated device has a latency above its floor, TickdiskError is raised.
    """
    found = _calibrated(calibration, model)
    return interpolate_floor(calibration, model.latency_ns[0]) if found is None else found.floor_ns


def realised_ns(calibration: Calibration, model: DeviceModel) -> int | None:
    """Returns the median latency in ns that a model realises here at queue depth 1. None if it was not calibrated."""
    found = _calibrated(calibration, model)
    return None if found is None else found.p50_ns


def _calibrated(calibration: Calibration, model: DeviceModel) -> DeviceResult | None:
    wanted = _parameters_of_floor(model.as_dict())
    return next((each for each in calibration.devices if _parameters_of_floor(each.model) == wanted), None)


def _parameters_of_floor(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the name of a model and the parameters that its floor depends on, by which its calibration is found.

    The CPU time that is burnt after replies is not among them, nor is the seed, which does not change the distribution of
    latencies.
    """
    return {name: value for name, value in values.items() if name not in {"burn_ns", "seed"}}


def interpolate_floor(calibration: Calibration, latency_ns: int) -> int:
    """Estimates the floor in ns of a latency that was not calibrated, which is never more than `latency_ns`.

    The floor is linear in the logarithm of the latency between calibrated devices, and outside of them it is that of the nearest
    one. Floors vary slowly with the latency, because a core takes longer to wake up the longer it has been idle. If no device has
    a latency above its floor, TickdiskError is raised.
    """
    known: dict[int, list[int]] = {}
    for device in calibration.devices:
        if 0 < device.floor_ns < device.latency_ns:
            known.setdefault(device.latency_ns, []).append(device.floor_ns)
    if not known:
        raise TickdiskError("the calibration has no device with a latency above its floor; calibrate one and run again")
    latencies = sorted(known)
    floors = [float(np.mean(known[latency])) for latency in latencies]
    return min(latency_ns, round(float(np.interp(np.log(max(latency_ns, 1)), np.log(latencies), floors))))


def burn_ns(calibration: Calibration, *, own: str, other: str) -> int:
    """Returns the CPU time in ns, at least 0, by which a request on the device `other` costs the emulator more than on `own`."""
    return max(0, round(calibration.device(other).cpu_ns_per_request - calibration.device(own).cpu_ns_per_request))
