"""Quantiles of raw latencies, verdicts on bounds, and points beside the model, computed once from the files of a calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk import calibrate, stats
from tickdisk import device as devices
from tickdisk.errors import TickdiskError

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
BoundVerdict = Literal["kept", "missed", "not valid"]
_BLOCK_BYTES = 4 << 10
"""The size of the requests that floors are measured with."""
_MIB = 1 << 20


@dataclass(frozen=True)
class Condition:
    """A circumstance of the measurement, such as the backend of the devices."""

    name: str
    word: str
    note: str


@dataclass(frozen=True)
class DeviceJob:
    """A job of fio on a device: what calibration.json says of it, and the quantiles of its raw latencies."""

    device: calibrate.DeviceResult
    result: calibrate.JobResult
    quantiles_us: Mapping[str, stats.Quantile | None]
    """p50, p99 and p999 of the requests that completed after the ramp; None where there are too few of them."""

    @property
    def words(self) -> str:
        """The job in words, such as "4 KiB random read, queue depth 16"."""
        size = self.result.block_bytes
        blocks = f"{size // _MIB} MiB" if size >= _MIB else f"{size >> 10} KiB"
        if self.result.op == "pwrite_fsync":
            return f"{blocks} pwrite + fsync"
        return f"{blocks} {self.result.pattern} {self.result.op}, queue depth {self.result.queue_depth}"


@dataclass(frozen=True)
class Acceptance:
    """A bound that an emulated device must keep on any machine, and the job that it is held against."""

    job: DeviceJob
    line: calibrate.Line

    @property
    def verdict(self) -> BoundVerdict:
        """The verdict; a figure that could not be measured is not valid."""
        if self.line["value"] is None:
            return "not valid"
        return "kept" if self.line["holds"] else "missed"


@dataclass(frozen=True)
class Judged:
    """The points at which a percentile is held to the model's, counted by what became of them."""

    limit: str
    """The largest distance from the model's percentile that the bound allows, in words."""
    kept: int
    judged: int
    untold: int
    """Points with too few requests beyond the percentile."""
    loaded: int
    """Points that were measured under too much load."""
    most_off_ns: float | None
    """The largest distance from the model's percentile at a point that was judged; None without one."""
    verdict: BoundVerdict


@dataclass(frozen=True)
class Results:
    """The results of the calibration."""

    measured: calibrate.Calibration
    fidelity: calibrate.Fidelity
    conditions: Sequence[Condition]
    jobs: Sequence[DeviceJob]
    """The jobs of all tiers, in the order in which they ran."""
    capped: frozenset[str]
    """The devices whose floor is as long as their nominal latency, which is the most that can be subtracted."""
    acceptance: Sequence[Acceptance]
    judged: Mapping[str, Judged]
    """The outcome of the points, for p50 and p99."""

    @property
    def pipes(self) -> list[calibrate.Pipe]:
        """The bandwidths that are held to the model and were not measured under too much load."""
        return [pipe for pipe in self.fidelity.own_pipes if not pipe.too_loaded]

    @property
    def bandwidth_verdict(self) -> BoundVerdict:
        """The verdict on bandwidths."""
        if not self.pipes:
            return "not valid"
        return "kept" if all(pipe.holds for pipe in self.pipes) else "missed"

    def job(self, device: str, op: str, pattern: str, queue_depth: int | None = None) -> DeviceJob | None:
        """Returns a job of a device; None if it has none. `queue_depth` None takes the job at any depth."""
        found = (
            job
            for job in self.jobs
            if (job.device.name, job.result.op, job.result.pattern) == (device, op, pattern)
            and queue_depth in (None, job.result.queue_depth)
        )
        return next(found, None)

    def reasons(self, device: calibrate.DeviceResult) -> list[str]:
        """Returns why a device is floor-limited, its jobs in words; empty if it is not."""
        names = {job.result.job: job.words for job in self.jobs if job.device.name == device.name}
        parts = (reason.partition(": ") for reason in device.reasons)
        return [f"{names.get(name, name)}{colon}{rest}" for name, colon, rest in parts]


def verdict_of_points(holds: Sequence[bool], told: int) -> BoundVerdict:
    """Returns the verdict on points of which `holds` says for each that was judged whether it keeps its bound.

    `told` points have enough requests to be judged. The verdict is not valid if fewer than `calibrate.LEAST_JUDGED_SHARE` of
    these were judged, unless one of them misses the bound.
    """
    if not all(holds):
        return "missed"
    return "kept" if holds and len(holds) >= calibrate.LEAST_JUDGED_SHARE * told else "not valid"


def compute(calibration: str, fidelity: str) -> Results:
    """Computes the results; see `study` for the parameters.

    TickdiskError if the raw latencies are missing, or are not those that calibration.json was made of.
    """
    measured = calibrate.load_calibration(Path(calibration))
    raw_us = _raw_latencies_us(Path(calibration).parent / measured.requests)
    jobs = [_device_job(device, job, raw_us) for device in measured.devices for job in device.jobs]
    found = calibrate.load_fidelity(Path(fidelity))
    return Results(
        measured=measured,
        fidelity=found,
        conditions=_conditions(measured),
        jobs=jobs,
        capped=frozenset(device.name for device in measured.devices if _is_capped(device)),
        acceptance=[Acceptance(job, line) for job in jobs for line in _lines(measured, job)],
        judged=_judge(found),
    )


def _raw_latencies_us(path: Path) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
    """Returns the latencies in us of each device and job, without the requests that completed during the ramp."""
    try:
        raw = pq.read_table(path, columns=["device", "job", "latency_ns", "ramp"]).to_pandas()
    except (FileNotFoundError, pa.ArrowInvalid) as error:
        raise TickdiskError(f"{path} is not there, or no Parquet file; run `tickdisk calibrate` again") from error
    by_job = raw[~raw["ramp"]].groupby(["device", "job"], observed=True)["latency_ns"]
    return {(device, job): latencies_ns.to_numpy(float) / 1000 for (device, job), latencies_ns in by_job}


def _device_job(
    device: calibrate.DeviceResult,
    job: calibrate.JobResult,
    raw_us: Mapping[tuple[str, str], npt.NDArray[np.float64]],
) -> DeviceJob:
    latencies_us = raw_us.get((device.name, job.job), np.empty(0))
    if len(latencies_us) != job.n:
        raise TickdiskError(
            f"{device.name}, {job.job}: the calibration counts {job.n} requests after the ramp, its table of raw latencies "
            f"{len(latencies_us)}; run `tickdisk calibrate` again"
        )
    return DeviceJob(device, job, {name: stats.quantile(latencies_us, q) for name, q in QUANTILES.items()})


def _is_capped(device: calibrate.DeviceResult) -> bool:
    model = devices.DeviceModel(**device.model)
    return device.floor_ns >= calibrate.nominal_latency_ns(model, "read_write", _BLOCK_BYTES)


def _lines(measured: calibrate.Calibration, job: DeviceJob) -> list[calibrate.Line]:
    """Returns the lines of the acceptance that are about one job, of which there is one at most."""
    alone = job.device.model_copy(update={"jobs": [job.result]})
    return calibrate.acceptance(measured.model_copy(update={"devices": [alone]}))


def _conditions(measured: calibrate.Calibration) -> list[Condition]:
    backend, lack = devices.BACKENDS[measured.backend], measured.arrivals_lack
    if lack:
        arrivals = Condition("arrivals", "as the emulator takes them", f"the kernel does not say when they come: {lack}")
    else:
        arrivals = Condition("arrivals", "as the kernel stamps them", "a request arrives when the kernel issues it")
    return [
        Condition("backend", backend.name, backend.description),
        Condition("file_system", measured.file_system, "on the emulated device"),
        arrivals,
    ]


def _judge(found: calibrate.Fidelity) -> dict[str, Judged]:
    held = [point for point in found.points if found.counts(point)]
    calm = [point for point in held if not point.too_loaded]
    loaded = len(held) - len(calm)
    p50 = [point.p50_holds for point in calm]
    told = [point for point in calm if point.p99_holds is not None]
    p99 = [bool(point.p99_holds) for point in told]
    return {
        "p50": Judged(
            calibrate.P50_LIMIT.replace(" us", " µs"),
            sum(p50),
            len(p50),
            0,
            loaded,
            _most_off([(point.p50_ns, point.nominal_p50_ns) for point in calm]),
            verdict_of_points(p50, len(held)),
        ),
        "p99": Judged(
            calibrate.P99_LIMIT.replace(" us", " µs"),
            sum(p99),
            len(p99),
            len(calm) - len(p99),
            loaded,
            _most_off([(point.p99_ns, point.nominal_p99_ns) for point in told]),
            verdict_of_points(p99, sum(point.p99_holds is not None for point in held)),
        ),
    }


def _most_off(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """Returns the largest distance between a realised percentile and the model's."""
    return max((abs(realised - said) for realised, said in pairs if realised is not None and said is not None), default=None)
