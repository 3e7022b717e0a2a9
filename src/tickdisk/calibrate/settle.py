"""The search for the floor of a device, which is the time that this machine adds to the model's latency."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tickdisk.calibrate import summary
from tickdisk.calibrate.bench import Bench, Measured
from tickdisk.calibrate.fio import Job, Op
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError

_BLOCK = 4 << 10
_CORRECTIONS = 3
_LOOK_S, _LOOK_REQUESTS = 0.25, 40
_LOOK_PART = 1 / 8
"""Least part of a job's time that a measurement of the floor lasts. Medians of a quarter of a second vary by a percent."""


def ramp_s(seconds: float) -> float:
    """Returns the time in s at the start of a job whose requests are not counted, a tenth of `seconds` and at least 0.05 s."""
    return max(0.05, 0.1 * seconds)


@dataclass(frozen=True)
class Settled:
    """The floor of a device model that `settle` found. It is in force on the steady form of the model.

    The steady form has the median as a constant latency. The model itself has to be set before other jobs are measured.
    """

    floor_ns: int
    looks: int
    """Number of measurements that were needed."""
    last: Measured
    """The last measurement, of reads and writes at queue depth 1."""


def settle(bench: Bench, model: DeviceModel, seconds: float) -> Settled:
    """Finds the floor of `model` on this machine by measurements, and leaves it in force.

    The floor is the time by which p50 at queue depth 1 exceeds the nominal latency. The first measurement is made with nothing
    subtracted. At most three further ones correct the floor by the excess that is left, until that is at most a quarter of the
    tolerance. The floor never exceeds the nominal latency. During the search, a device whose latency varies has its median as a
    constant latency, and this steady model stays in force. The same floor holds for every depth: docs/decisions/ablation.md has
    the effect of floors for each depth.

    A measurement lasts an eighth of `seconds`, the time of a job of the calibration. It lasts at least a quarter of a second, and
    at least as long as 40 requests take.
    """
    steady = model.steady()
    nominal_ns = steady.service_ns(_BLOCK, "read_write")
    near_ns = summary.latency_tolerance_ns(nominal_ns) / 4
    length_s = max(_LOOK_S, _LOOK_PART * seconds, _LOOK_REQUESTS * nominal_ns / 1e9)
    floor_ns, looks = 0, 0
    while True:
        bench.set(steady, floor_ns=floor_ns)
        last = bench.run(Job("read_write", "random", _BLOCK, 1, ramp_s(seconds) + length_s))
        missed_ns, looks = round(float(np.mean(excess_ns(steady, [last], ramp_s(seconds) * 1000)))), looks + 1
        is_near = looks > 1 and abs(missed_ns) <= near_ns
        is_fastest = floor_ns == nominal_ns and missed_ns >= 0
        if is_near or is_fastest or looks > _CORRECTIONS:
            return Settled(floor_ns, looks, last)
        floor_ns = min(max(0, floor_ns + missed_ns), nominal_ns)


def excess_ns(model: DeviceModel, measured: list[Measured], ramp_ms: float) -> list[int]:
    """Returns by how many ns p50 exceeds the nominal latency, once for the reads and once for the writes of each job.

    Requests in the ramp, the first `ramp_ms` of a job, do not count. The jobs must have queue depth 1 and requests of 4 KiB.
    """
    off = []
    for each in measured:
        kept = each.requests.after(ramp_ms)
        parts: tuple[tuple[Op, npt.NDArray[np.bool_]], ...] = (("read", ~kept.is_write), ("write", kept.is_write))
        for op, mask in parts:
            if mask.any():
                off.append(int(np.median(kept.latency_ns[mask])) - model.service_ns(_BLOCK, op))
    if not off:
        raise TickdiskError(f"no request on {model.name} completed after the ramp; measure for longer")
    return off
