"""Computes the results of the calibration study from its files: quantiles of raw latencies, and the verdicts on bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tickdisk import calibrate, stats
from tickdisk import device as devices
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import read_plan

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
_BLOCK_BYTES = 4 << 10
"""Size of the requests that floors are measured with."""
_MIB = 1 << 20


@dataclass(frozen=True)
class Condition:
    """A circumstance of the calibration, such as the backend of the devices, which the study states as a fact."""

    name: str
    """Name of the fact in the study: `backend`, `file_system` or `arrivals`."""
    word: str
    note: str


@dataclass(frozen=True)
class DeviceJob:
    """A job of fio on a device, with the quantiles of its raw latencies."""

    device: calibrate.DeviceResult
    result: calibrate.JobResult
    quantiles_us: Mapping[str, stats.Quantile | None]
    """The quantiles p50, p99 and p999 in us of the requests that completed after the ramp. None if the requests are too few."""

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
    """A bound that an emulated device must keep on any machine, and the job that the bound is about."""

    job: DeviceJob
    line: calibrate.Line
    """The bound with its limit, the measured value, and whether the value keeps the limit."""

    @property
    def causes(self) -> list[stats.NotMeasured]:
        """The cause for which the bound cannot be decided, or none."""
        return [stats.NotMeasured(what="the value")] if self.line["value"] is None else []

    @property
    def verdict(self) -> stats.BoundWord:
        """The verdict on the bound. It is "not valid" if the value could not be measured."""
        return "not valid" if self.causes else "kept" if self.line["holds"] else "missed"


@dataclass(frozen=True)
class Judged:
    """The outcome for one percentile, p50 or p99, at all points at which it must be near the model's percentile."""

    limit: str
    """Largest distance from the model's percentile that the bound allows, in words."""
    kept: int
    """Number of judged points that keep the bound."""
    judged: int
    untold: int
    """Number of points that were not judged because too few requests lie beyond the percentile."""
    loaded: int
    """Number of points that were not judged because they were measured under too much load."""
    most_off_ns: float | None
    """Largest distance from the model's percentile at a judged point. None if no point was judged."""
    verdict: stats.BoundWord

    @property
    def causes(self) -> list[stats.PointsNotJudged]:
        """The cause for which the bound cannot be decided, or none."""
        if self.verdict != "not valid":
            return []
        return [stats.PointsNotJudged(judged=self.judged, untold=self.untold, loaded=self.loaded)]


@dataclass(frozen=True)
class Results:
    """The results of the calibration study, from which its tables, figures, facts and claims are made."""

    measured: calibrate.Calibration
    fidelity: calibrate.Fidelity
    conditions: Sequence[Condition]
    jobs: Sequence[DeviceJob]
    """Jobs of all tiers, in the order in which they ran."""
    capped: frozenset[str]
    """Names of the devices whose floor is capped at their nominal latency, which is the most that can be subtracted."""
    acceptance: Sequence[Acceptance]
    judged: Mapping[str, Judged]
    """Outcome by percentile, p50 and p99."""
    confidence: float
    """Confidence of the intervals of quantiles."""

    @property
    def pipes(self) -> list[calibrate.Pipe]:
        """The measured bandwidths of this project's emulator, without those that were measured under too much load."""
        return [pipe for pipe in self.fidelity.own_pipes if not pipe.too_loaded]

    @property
    def bandwidth_verdict(self) -> stats.BoundWord:
        """The verdict on whether all `pipes` are near the model's bandwidth, or "not valid" if there are none."""
        if not self.pipes:
            return "not valid"
        return "kept" if all(pipe.holds for pipe in self.pipes) else "missed"

    def job(self, device: str, op: str, pattern: str, queue_depth: int | None = None) -> DeviceJob | None:
        """Returns the first job of a device that matches, or None. If `queue_depth` is None, any queue depth matches."""
        found = (
            job
            for job in self.jobs
            if (job.device.name, job.result.op, job.result.pattern) == (device, op, pattern)
            and queue_depth in (None, job.result.queue_depth)
        )
        return next(found, None)

    def reasons(self, device: calibrate.DeviceResult) -> list[str]:
        """Returns one text for each nominal value of a device that this machine does not reach."""
        names = {job.result.job: job.words for job in self.jobs if job.device.name == device.name}
        return [each.model_copy(update={"job": names.get(each.job, each.job)}).sentence for each in device.reasons]


def verdict_of_points(holds: Sequence[bool], told: int) -> stats.BoundWord:
    """Decides whether the points of a measurement keep a bound.

    `holds` says for each judged point whether it keeps the bound. `told` is the number of points with enough requests to be
    judged. The verdict is "missed" if a judged point misses the bound, and "not valid" if no point was judged, or fewer than
    `calibrate.LEAST_JUDGED_SHARE` of the `told` points were.

    Examples
    --------
    >>> verdict_of_points([True, True], told=3), verdict_of_points([True], told=3), verdict_of_points([False], told=3)
    ('kept', 'not valid', 'missed')
    """
    if not all(holds):
        return "missed"
    return "kept" if holds and len(holds) >= calibrate.LEAST_JUDGED_SHARE * told else "not valid"


def compute(plan: str, *, calibration: str, fidelity: str) -> Results:
    """Compares the realised latency, requests per second and bandwidth of every emulated device with those of its model.

    `calibration` and `fidelity` are the files that `tickdisk calibrate` and `tickdisk fidelity` wrote. The table of raw latencies
    lies in the folder of the first. The plan says the confidence of intervals. Raises TickdiskError if a file is missing or of
    another version, or if the table belongs to another calibration.
    """
    confidence = read_plan(Path(plan)).config.decision.confidence
    measured = calibrate.load_calibration(Path(calibration))
    raw_us = _raw_latencies_us(Path(calibration).parent / measured.requests)
    jobs = [_device_job(device, job, raw_us, confidence) for device in measured.devices for job in device.jobs]
    found = calibrate.load_fidelity(Path(fidelity))
    return Results(
        measured=measured,
        fidelity=found,
        conditions=_conditions(measured),
        jobs=jobs,
        capped=frozenset(device.name for device in measured.devices if _is_capped(device)),
        acceptance=[Acceptance(job, line) for job in jobs for line in _lines(measured, job)],
        judged=_judge(found),
        confidence=confidence,
    )


def _raw_latencies_us(path: Path) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
    """Returns the latencies in us of each device and job, without the requests that completed during the ramp."""
    raw = table.read_columns(path, ["device", "job", "latency_ns", "ramp"], "run `tickdisk calibrate` again", others=False)
    by_job = raw[~raw["ramp"]].groupby(["device", "job"], observed=True)["latency_ns"]
    return {(str(device), str(job)): latencies_ns.to_numpy(float) / 1000 for (device, job), latencies_ns in by_job}


def _device_job(
    device: calibrate.DeviceResult,
    job: calibrate.JobResult,
    raw_us: Mapping[tuple[str, str], npt.NDArray[np.float64]],
    confidence: float,
) -> DeviceJob:
    latencies_us = raw_us.get((device.name, job.job), np.empty(0))
    if len(latencies_us) != job.n:
        raise TickdiskError(
            f"{device.name}, {job.job}: the calibration counts {job.n} requests after the ramp, but its table of raw latencies "
            f"has {len(latencies_us)}; run `tickdisk calibrate` again"
        )
    return DeviceJob(device, job, {name: stats.quantile(latencies_us, q, confidence) for name, q in QUANTILES.items()})


def _is_capped(device: calibrate.DeviceResult) -> bool:
    """Returns whether a device's floor is at least as long as its nominal latency."""
    return device.floor_ns >= device.model.service_ns(_BLOCK_BYTES, "read_write")


def _lines(measured: calibrate.Calibration, job: DeviceJob) -> list[calibrate.Line]:
    alone = job.device.model_copy(update={"jobs": [job.result]})
    return calibrate.acceptance(measured.model_copy(update={"devices": [alone]}))


def _conditions(measured: calibrate.Calibration) -> list[Condition]:
    backend, lack = devices.BACKENDS[measured.backend], measured.arrivals_lack
    if lack:
        arrivals = Condition("arrivals", "as the emulator takes them", f"the kernel does not tell when a request arrives: {lack}")
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
    """Returns the largest distance of a realised percentile from the model's, or None if no pair has both."""
    return max((abs(realised - said) for realised, said in pairs if realised is not None and said is not None), default=None)
