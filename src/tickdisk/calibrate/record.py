"""The content of `calibration.json`, and the functions with which other rooms look up floors and latencies in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tickdisk.calibrate.fio import Op, Pattern
from tickdisk.device import DeviceModel, KeptModel
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.host import HostFacts
from tickdisk.foundation.record import Record, Unit, read

SCHEMA_VERSION: Literal[4] = 4
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]


class JobResult(Record):
    """The realised and nominal figures of one fio job on one device, as an entry of `calibration.json`.

    Fields without `nominal` are realised, and loads are as in `host.MachineLoad`.
    """

    job: str
    """The name of the fio job, such as `read_random_4k_qd16`."""
    op: Op
    """The operation."""
    pattern: Pattern
    """The order of the places that were asked for."""
    block_bytes: Annotated[int, Field(gt=0)]
    """The size of a request."""
    queue_depth: Annotated[int, Field(gt=0), Unit("requests")]
    """The number of requests that fio kept in flight."""
    n: Annotated[int, Field(gt=0), Unit("requests")]
    """Requests that completed after the ramp. The percentiles rest on them."""
    n_counted: Annotated[int, Field(gt=0), Unit("requests")]
    """Requests from the start to the end of the job. fio's own count and the raw log agree on this number, or the job fails."""
    n_device: Annotated[Mapping[str, int], Unit("requests")]
    """Requests that the device counted during the job, by operation: read, write, flush, discard."""
    p50_ns: Annotated[int, Field(gt=0)]
    """The median latency."""
    p99_ns: int | None
    """The 99th percentile of the latency. It is null when fewer than ten requests lie beyond it."""
    p999_ns: int | None
    """The 99.9th percentile of the latency. It is null when fewer than ten requests lie beyond it."""
    iops: Positive | None
    """Requests per second from the start of the job to the last completion. It is null for a job that was shorter than a
    millisecond."""
    bandwidth_bytes_per_s: Positive | None
    """The bandwidth of the whole job. It is null for a job that was shorter than a millisecond."""
    nominal_p50_ns: Count | None
    """The median latency of the model for random requests that come one at a time. It is null for other depths, and for
    `pwrite_fsync`, because the file system decides how many requests it makes to the device."""
    nominal_iops: Positive | None
    """The requests per second of the model. It is null where the model sets no limit."""
    nominal_bandwidth_bytes_per_s: Positive | None
    """The bandwidth of the model. It is null where the model sets no limit."""
    compared: Literal["p50_ns", "iops", "bandwidth_bytes_per_s"] | None
    """The key that is compared with the model: the latency of requests that come one at a time, the requests per second of more
    in flight, the bandwidth of sequential jobs. It is null where the model says nothing."""
    ratio: Annotated[float | None, Unit("ratio")]
    """Realised value of the compared figure, divided by its nominal value."""
    within_tolerance: bool | None
    """Whether that ratio is within the tolerance."""
    steal_share: float
    """The share of the cores' time that the hypervisor gave to other guests."""
    pressure_cpu_share: float
    """The share of the time in which some task waited for a core."""
    pressure_io_share: float
    """The share of the time in which some task waited for storage."""
    pressure_memory_share: float
    """The share of the time in which some task waited for memory."""
    repeats: Annotated[Count, Unit("times")]
    """Times that the job was repeated because the machine was too loaded."""
    too_loaded: bool
    """Whether the machine was still too loaded at the last repeat, which was kept and marked."""


class Reason(Record):
    """A nominal value of a device that this machine does not reach, with the value that it reaches."""

    job: str
    """The name of the fio job. It is empty for a device of which only the floor was measured."""
    values: str
    """Both values in words."""

    @property
    def sentence(self) -> str:
        """The name of the job, if there is one, and the values."""
        return f"{self.job}: {self.values}" if self.job else self.values


class DeviceResult(Record):
    """The calibration of one device model on this machine: its floor, its realised median latency, and the results of its
    jobs.
    """

    name: str
    """The name of the device model."""
    model: KeptModel
    """The device model, with every parameter. See *Device model* below."""
    latency_ns: Count
    """Nominal latency of a 4 KiB read on the idle device."""
    floor_ns: Count
    """The latency of the emulator itself: the time by which the median of requests that come one at a time exceeds the model. It
    is subtracted from every deadline."""
    floor_looks: Annotated[int, Field(ge=1), Unit("measurements")]
    """The number of measurements until the floor was settled. The first was without a floor."""
    p50_ns: Annotated[int, Field(gt=0)]
    """The realised median latency of requests that come one at a time, with the floor subtracted: the mean of reads and
    writes."""
    cpu_ns_per_request: Annotated[float, Field(ge=0)]
    """The processor time of the emulator for each request when requests come one at a time."""
    floor_limited: bool
    """Whether this machine cannot be as fast as the model demands."""
    reasons: tuple[Reason, ...]
    """The nominal values that this machine does not reach, each with the value that it reaches."""
    jobs: list[JobResult]
    """The results of the fio jobs. The list is empty for a device of which only floor and processor time were measured."""


class Calibration(Record):
    """The content of `calibration.json`: how fast emulated devices really are on this machine, and the floor of each.

    The raw latencies are in `calibration/requests.parquet` beside that file.
    """

    schema_version: Literal[4]
    """The version of the form of this file."""
    machine: HostFacts
    """The machine that was calibrated. See *Host* below."""
    backend: str
    """The way in which devices were emulated, such as fuse or tree."""
    file_system: str
    """The file system on the devices. Jobs without a file system go to the block device below it, or, where there is none, to a
    file past the page cache."""
    fio: str
    """The version of fio."""
    seconds_per_job: Annotated[Positive, Unit("s")]
    """The measured time of a job."""
    ramp_s: Positive
    """The time that is cut from the start of every job."""
    started_unix_s: float
    """The time at which the calibration began, counted from the beginning of 1970."""
    wall_s: Positive
    """The time that the calibration took."""
    limits: Annotated[Mapping[str, float], Unit("share")]
    """Shares of the machine's load above which a job was repeated."""
    arrivals_lack: str = ""
    """The reason for which the kernel did not tell when requests arrived; empty if it told. The time that the emulator takes to
    take a request is then part of the floors."""
    requests: str
    """The table of raw latencies, relative to this file."""
    devices: list[DeviceResult]
    """The devices that were calibrated."""

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

    A floor is interpolated at the latency of the fastest operation, because all operations of a device have one floor, which must
    not exceed any latency. If it has to be interpolated and no calibrated device has a latency above its floor, TickdiskError is
    raised.
    """
    device = _calibrated(calibration, model)
    return interpolate_floor(calibration, min(model.latency_ns[:3])) if device is None else device.floor_ns


def realised_ns(calibration: Calibration, model: DeviceModel) -> int | None:
    """Returns the median latency in ns that a model realises here at queue depth 1. None if it was not calibrated."""
    device = _calibrated(calibration, model)
    return None if device is None else device.p50_ns


def _calibrated(calibration: Calibration, model: DeviceModel) -> DeviceResult | None:
    """Returns the calibration of a model, which is found by its name and the parameters that its floor depends on.

    The CPU time that is burnt after replies is not among them, nor is the seed, which does not change the distribution of
    latencies.
    """
    wanted = model.with_burn(0).with_seed(0).as_dict()
    return next((each for each in calibration.devices if each.model.with_burn(0).with_seed(0).as_dict() == wanted), None)


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
