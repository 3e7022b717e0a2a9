"""What a calibration says, as `calibration.json` holds it, and what others look up in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tickdisk.calibrate.fio import Op, Pattern
from tickdisk.device import DeviceModel
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json

SCHEMA_VERSION: Literal[3] = 3
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class JobResult(_Strict):
    """One fio job on one device: what was realised, beside what the model says."""

    job: str
    op: Op
    pattern: Pattern
    block_bytes: Annotated[int, Field(gt=0)]
    queue_depth: Annotated[int, Field(gt=0)]
    n: Annotated[int, Field(gt=0)]
    """Requests that the percentiles rest on: those completed after the ramp."""
    n_counted: Annotated[int, Field(gt=0)]
    """Requests from start to end; fio's own count and the raw log agree on it, or the job fails."""
    n_device: Mapping[str, int]
    """Requests that the device counted meanwhile, by operation: read, write, flush, discard."""
    p50_ns: Annotated[int, Field(gt=0)]
    p99_ns: int | None
    """None when fewer than ten requests lie beyond: not estimable."""
    p999_ns: int | None
    iops: Positive | None
    """Of the whole job, from its start to the last completion; None when that is less than a millisecond."""
    bandwidth_bytes_per_s: Positive | None
    nominal_p50_ns: Count | None
    """At queue depth 1; None for `pwrite_fsync`, whose number of device requests the file system decides."""
    nominal_iops: Positive | None
    """None where the model sets no limit."""
    nominal_bandwidth_bytes_per_s: Positive | None
    compared: Literal["p50_ns", "iops", "bandwidth_bytes_per_s"] | None
    """The figure that is held against the model's: latency at queue depth 1, IOPS above it, bandwidth of sequential jobs."""
    ratio: float | None
    """Realised over nominal of the figure compared."""
    within_tolerance: bool | None
    steal_share: float
    pressure_cpu_share: float
    pressure_io_share: float
    pressure_memory_share: float
    repeats: Count
    """Times that the job was repeated because the machine was too loaded."""
    too_loaded: bool
    """Whether it still was at the last repeat; the job is kept and marked."""


class DeviceResult(_Strict):
    """One device model on this machine."""

    name: str
    model: Mapping[str, Any]
    """The nominal model, every parameter."""
    latency_ns: Count
    """Nominal latency of a 4 KiB read on the idle device."""
    floor_ns: Count
    """The time that the machine adds to the model's latency, the excess of p50 at depth 1. It is subtracted from deadlines."""
    floor_looks: Annotated[int, Field(ge=1)]
    """Looks at p50 until the floor was settled: without one, then with what the last look corrected."""
    p50_ns: Annotated[int, Field(gt=0)]
    """Realised at queue depth 1 with the floor subtracted, the mean of read's and write's."""
    cpu_ns_per_request: Annotated[float, Field(ge=0)]
    """CPU time of the emulator for a request at queue depth 1."""
    floor_limited: bool
    reasons: list[str]
    """Why it is floor-limited: nominal values that this machine does not reach, with what it reaches."""
    jobs: list[JobResult]
    """Empty for a model of which only floor and CPU were measured."""


class Calibration(_Strict):
    """`calibration.json`; the raw latencies are in `calibration/requests.parquet` beside it."""

    schema_version: Literal[3]
    machine: Mapping[str, Any]
    backend: str
    """Of the devices, one of `tickdisk.device.BACKENDS`."""
    file_system: str
    """On the devices; raw jobs go to the block device below it, or, where it tells no places there, to a file, past the cache."""
    fio: str
    seconds_per_job: Positive
    ramp_s: Positive
    """Cut from the start of every job."""
    started_unix_s: float
    wall_s: Positive
    limits: Mapping[str, float]
    """Above these shares a job was repeated."""
    arrivals_lack: str = ""
    """Why the kernel did not say when requests arrived, if it did not: what the emulator takes is then in the floors."""
    requests: str
    """The table of raw latencies, relative to this file."""
    devices: list[DeviceResult]

    @property
    def floors_ns(self) -> dict[str, int]:
        """Floors by device name."""
        return {device.name: device.floor_ns for device in self.devices}

    def device(self, name: str) -> DeviceResult:
        """Returns the device called `name`; TickdiskError when it was not calibrated."""
        for device in self.devices:
            if device.name == name:
                return device
        raise TickdiskError(
            f"the calibration has no device {name}, only {', '.join(self.floors_ns)}; run `tickdisk calibrate` again"
        )


def load_calibration(path: Path) -> Calibration:
    """Returns the calibration in `path`; TickdiskError names the file and the key that is wrong."""
    try:
        return Calibration.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise TickdiskError(f"{path}: {key}: {first['msg']}; remove the file and run `tickdisk calibrate`") from error


def floor_ns(calibration: Calibration, model: DeviceModel) -> int:
    """Returns the floor for `model`: measured if it was calibrated as it is, interpolated otherwise."""
    found = _calibrated(calibration, model)
    return interpolate_floor(calibration, model.latency_ns[0]) if found is None else found.floor_ns


def realised_ns(calibration: Calibration, model: DeviceModel) -> int | None:
    """Returns the latency that this machine makes of `model` (p50 at queue depth 1); None if it was not calibrated."""
    found = _calibrated(calibration, model)
    return None if found is None else found.p50_ns


def _calibrated(calibration: Calibration, model: DeviceModel) -> DeviceResult | None:
    wanted = _of_floor(model.as_dict())
    return next((each for each in calibration.devices if _of_floor(each.model) == wanted), None)


def _of_floor(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a floor depends on: not what is burnt after replies, nor which of equally distributed latencies are drawn."""
    return {name: value for name, value in values.items() if name not in {"burn_ns", "seed"}}


def interpolate_floor(calibration: Calibration, latency_ns: int) -> int:
    """Returns the floor at `latency_ns`, linear in the logarithm of latency between calibrated devices, the nearest's outside.

    Floors vary slowly: idle wake-ups take longer the longer the machine has slept. Never more than `latency_ns` itself.
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
    """Returns the CPU time that `own` must burn per request to cost the emulator what `other` does; 0 if it does already."""
    return max(0, round(calibration.device(other).cpu_ns_per_request - calibration.device(own).cpu_ns_per_request))
