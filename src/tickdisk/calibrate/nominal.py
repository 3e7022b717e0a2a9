"""What the model says of a job, before it is run."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tickdisk.calibrate.fio import Job, Op
from tickdisk.device import OPS, DeviceModel, simulate_closed

_SIMULATED = 4096


@dataclass(frozen=True)
class Nominal:
    """What the model says of a job; None where it says nothing or sets no limit."""

    p50_ns: int | None
    iops: float | None
    bandwidth_bytes_per_s: float | None
    compared: Literal["p50_ns", "iops", "bandwidth_bytes_per_s"] | None


def nominal(model: DeviceModel, job: Job) -> Nominal:
    """Returns the nominal figures of `job`, whose queue is always full: Little's law, channels and pipe are the limits."""
    if job.op in {"pwrite_fsync", "pwrite_fdatasync"}:
        return Nominal(None, None, None, None)
    latency_ns = nominal_latency_ns(model, job.op, job.block_bytes)
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


def nominal_latency_ns(model: DeviceModel, op: Op, block_bytes: int) -> int:
    """Returns the latency of one request on the idle device; a mix of reads and writes counts as their mean."""
    read_ns, write_ns, *_ = model.latency_ns
    base = {"read": read_ns, "write": write_ns}.get(op, (read_ns + write_ns) // 2)
    transfer = round(block_bytes * 1e9 / model.bandwidth_bytes_per_s) if model.bandwidth_bytes_per_s else 0
    return max(base, transfer)


def served_per_s(model: DeviceModel, job: Job) -> float | None:
    """Returns how many requests of `job` a second the model completes, its queue always full; None: as many as can be asked for.

    Simulated, as requests in flight, credits or what is drawn may decide; each request is at a place of its own.
    """
    kinds = [OPS.index(op) for op in ("read", "write") if job.op in {op, "read_write"}] or [OPS.index("write")]
    places = np.arange(_SIMULATED) * job.block_bytes
    if job.pattern == "random":
        np.random.default_rng(0).shuffle(places)
    _, completed_ns = simulate_closed(model, job.queue_depth, np.resize(kinds, _SIMULATED), places, job.block_bytes)
    took_ns = int(completed_ns.max())
    return _SIMULATED / took_ns * 1e9 if took_ns else None
