"""The nominal figures of a job, which follow from the device model before the job is run."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tickdisk.calibrate.fio import Job
from tickdisk.device import OPS, DeviceModel, simulate_closed

_SIMULATED = 4096


@dataclass(frozen=True)
class Nominal:
    """The figures that a device model predicts for a job of fio, with which the realised ones are compared.

    A figure is None if the model says nothing of it or sets no limit.
    """

    p50_ns: int | None
    iops: float | None
    bandwidth_bytes_per_s: float | None
    compared: Literal["p50_ns", "iops", "bandwidth_bytes_per_s"] | None
    """Name of the figure that the realised one is compared with."""


def nominal(model: DeviceModel, job: Job) -> Nominal:
    """Computes the figures that `job` must have on a device that is exactly like `model`.

    The queue is always full, so the rate is limited by Little's law, by the channels and by the bandwidth of the device.
    """
    if job.op in {"pwrite_fsync", "pwrite_fdatasync"}:
        return Nominal(None, None, None, None)
    latency_ns = model.service_ns(job.block_bytes, job.op)
    served = min(job.queue_depth, model.channels or job.queue_depth)
    limits = [served / latency_ns * 1e9] if latency_ns else []
    limits += [model.bandwidth_bytes_per_s / job.block_bytes] if model.bandwidth_bytes_per_s else []
    iops = min(limits, default=None)
    bandwidth = None if iops is None else iops * job.block_bytes
    if job.pattern == "sequential":
        return Nominal(None, iops, bandwidth, None if bandwidth is None else "bandwidth_bytes_per_s")
    if job.queue_depth == 1:
        return Nominal(latency_ns, iops, bandwidth, "p50_ns")
    return Nominal(None, iops, bandwidth, None if iops is None else "iops")


def served_per_s(model: DeviceModel, job: Job) -> float | None:
    """Returns the requests of `job` per second that the model completes while the queue is always full.

    If the model completes requests without any delay, None is returned. The rate is simulated, because it may depend on requests
    in flight, credits and random draws. Each simulated request is at a different place on the device.
    """
    kinds = [OPS.index(op) for op in ("read", "write") if job.op in {op, "read_write"}] or [OPS.index("write")]
    places = np.arange(_SIMULATED) * job.block_bytes
    if job.pattern == "random":
        np.random.default_rng(0).shuffle(places)
    _, completed_ns = simulate_closed(model, job.queue_depth, np.resize(kinds, _SIMULATED), places, job.block_bytes)
    took_ns = int(completed_ns.max())
    return _SIMULATED / took_ns * 1e9 if took_ns else None
