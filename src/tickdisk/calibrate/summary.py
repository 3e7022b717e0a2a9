"""The figures of a job from its raw latencies and the model, and the bounds that an emulated device has to keep."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from tickdisk.calibrate.bench import Measured
from tickdisk.calibrate.nominal import Nominal, nominal
from tickdisk.calibrate.points import BANDWIDTH_SHARE, P50_LIMIT, P50_NS, P50_SHARE
from tickdisk.calibrate.record import Calibration, DeviceResult, JobResult
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError

BEYOND = 10
"""Number of requests that must lie beyond a percentile for it to be estimable."""
SLOW_NS = 6_000_000
EMULATED_NS, DEEP_NS, DEEP, SLOW_PIPE_BYTES_PER_S = 100_000, 1_000_000, 32, 1e9
"""Limits within which the bounds of the acceptance apply: the least latency for the bound on p50, the least latency and the queue
depth for the bound on requests per second, and the largest bandwidth that is held to the model."""


def percentile_ns(latency_ns: npt.NDArray[np.int64], share: float) -> int | None:
    """Returns the smallest of an array of latencies in ns that at least `share` of the requests do not exceed.

    It is None if fewer than ten requests lie beyond it.

    >>> percentile_ns(np.arange(1, 101), 0.5), percentile_ns(np.arange(1, 101), 0.99)
    (50, None)
    """
    n = len(latency_ns)
    if n * (1 - share) < BEYOND - 1e-9:
        return None
    return int(np.quantile(latency_ns, share, method="inverted_cdf"))


def percentile_of_runs_ns(runs: Sequence[npt.NDArray[np.int64]], share: float) -> int | None:
    """Returns the median of the runs' percentiles, so that a disturbance in a minority of the runs changes nothing.

    If a run has too few requests for the percentile, the percentile of the requests of all runs together is returned, or None if
    these are too few as well.
    """
    each = [percentile_ns(latency_ns, share) for latency_ns in runs]
    told = [ns for ns in each if ns is not None]
    return percentile_ns(np.concatenate(runs), share) if len(told) < len(each) else round(float(np.median(told)))


def latency_tolerance_ns(nominal_ns: int) -> int:
    """Returns the largest distance in ns that a realised p50 at queue depth 1 may have from the nominal one, `nominal_ns`."""
    return max(P50_NS, round(P50_SHARE * nominal_ns))


def iops_share(latency_ns: int) -> float:
    """Returns the share of the nominal requests per second, queue depth / latency, that an emulated device must reach.

    It is larger on a slow device (`latency_ns` of a read), whose requests are less affected by the cost of the emulation.
    """
    return 0.9 if latency_ns >= SLOW_NS else 0.8


def within(expected: Nominal, realised: float | None, latency_ns: int) -> tuple[float | None, bool | None]:
    """Returns the realised figure divided by the nominal one, and whether it keeps the bound for this kind of figure.

    A median and a bandwidth have to be near the nominal figure. Requests per second have to be at least the share
    `iops_share(latency_ns)` of it, where `latency_ns` is the nominal latency of a read. The ratio is None if one of the figures
    is missing or the nominal one is 0. The answer is then None as well, except for a median whose nominal figure is 0.
    """
    target = None if expected.compared is None else getattr(expected, expected.compared)
    if not target or realised is None:
        return None, None if expected.compared != "p50_ns" or realised is None else realised <= latency_tolerance_ns(0)
    ratio = realised / target
    if expected.compared == "p50_ns":
        return ratio, abs(realised - target) <= latency_tolerance_ns(target)
    if expected.compared == "iops":
        return ratio, ratio >= iops_share(latency_ns)
    return ratio, abs(ratio - 1) <= BANDWIDTH_SHARE


def job_result(model: DeviceModel, measured: Measured, ramp_ms: float) -> JobResult:
    """Computes the entry of calibration.json for a job that was run on `model`, from the requests after the ramp."""
    job, kept = measured.job, measured.requests.after(ramp_ms)
    p50_ns, iops = percentile_ns(kept.latency_ns, 0.5), measured.requests.requests_per_s
    if p50_ns is None:
        raise TickdiskError(
            f"{job.name} on {model.name} made only {len(kept)} requests after the ramp; raise calibration.seconds_per_job"
        )
    bandwidth = None if iops is None else iops * job.block_bytes
    expected = nominal(model, job)
    realised = {"p50_ns": p50_ns, "iops": iops, "bandwidth_bytes_per_s": bandwidth}.get(expected.compared or "")
    ratio, holds = within(expected, realised, model.latency_ns[0])
    load = measured.load
    return JobResult(
        job=job.name,
        op=job.op,
        pattern=job.pattern,
        block_bytes=job.block_bytes,
        queue_depth=job.queue_depth,
        n=len(kept),
        n_counted=len(measured.requests),
        n_device=measured.device_requests,
        p50_ns=p50_ns,
        p99_ns=percentile_ns(kept.latency_ns, 0.99),
        p999_ns=percentile_ns(kept.latency_ns, 0.999),
        iops=iops,
        bandwidth_bytes_per_s=bandwidth,
        nominal_p50_ns=expected.p50_ns,
        nominal_iops=expected.iops,
        nominal_bandwidth_bytes_per_s=expected.bandwidth_bytes_per_s,
        compared=expected.compared,
        ratio=ratio,
        within_tolerance=holds,
        steal_share=load.steal_share,
        pressure_cpu_share=load.pressure_cpu_share,
        pressure_io_share=load.pressure_io_share,
        pressure_memory_share=load.pressure_memory_share,
        repeats=measured.repeats,
        too_loaded=measured.too_loaded,
    )


class Line(TypedDict):
    """One bound that an emulated device must keep, and whether it does, as `acceptance` lists it."""

    statement: str
    """The bound in words, to which the limit has to be added."""
    value: float | None
    """The measured value. None if it could not be measured."""
    limit: float
    """The limit, in the unit that the statement says."""
    holds: bool
    """Whether `value` is within `limit`, which is a lower or an upper limit as the statement says."""


def acceptance(calibration: Calibration) -> list[Line]:
    """Lists the bounds that an emulated device must keep on any machine, and whether each is kept here.

    For devices with a latency of at least 100 us, p50 at queue depth 1 is within max(5 us, 3 %) of the nominal latency. At queue
    depth 32 the requests per second are at least 80 % of depth / latency for devices of at least 1 ms, and 90 % from 6 ms up.
    Bandwidths of up to 1 GB/s are within 3 %, on devices of any latency.
    """
    lines = []
    for device in calibration.devices:
        for job in device.jobs:
            line = _line(device, job)
            if line is not None:
                lines.append(line)
    return lines


def _line(device: DeviceResult, job: JobResult) -> Line | None:
    what = f"{device.name}: {job.block_bytes >> 10} KiB {job.pattern} {job.op}, queue depth {job.queue_depth}"
    if job.compared == "p50_ns" and job.nominal_p50_ns is not None and device.latency_ns >= EMULATED_NS:
        off_us, limit_us = abs(job.p50_ns - job.nominal_p50_ns) / 1000, latency_tolerance_ns(job.nominal_p50_ns) / 1000
        return Line(
            statement=f"{what}: p50 is at most {P50_LIMIT} from nominal, us",
            value=off_us,
            limit=limit_us,
            holds=off_us <= limit_us,
        )
    if job.compared == "iops" and job.queue_depth == DEEP and device.latency_ns >= DEEP_NS:
        share = iops_share(device.latency_ns)
        holds = job.ratio is not None and job.ratio >= share
        return Line(statement=f"{what}: IOPS over queue depth / latency is at least", value=job.ratio, limit=share, holds=holds)
    if job.compared == "bandwidth_bytes_per_s" and (job.nominal_bandwidth_bytes_per_s or 0) <= SLOW_PIPE_BYTES_PER_S:
        off = None if job.ratio is None else abs(job.ratio - 1)
        holds = off is not None and off <= BANDWIDTH_SHARE
        return Line(statement=f"{what}: bandwidth off nominal, share, is at most", value=off, limit=BANDWIDTH_SHARE, holds=holds)
    return None
