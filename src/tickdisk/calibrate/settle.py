"""The floor of a device: what this machine adds to the model's latency, looked at by fio, subtracted, and looked at again."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tickdisk.calibrate import summary
from tickdisk.calibrate.bench import Bench, Measured
from tickdisk.calibrate.fio import Job, Op
from tickdisk.calibrate.nominal import nominal_latency_ns
from tickdisk.device import DeviceModel
from tickdisk.errors import TickdiskError

_BLOCK = 4 << 10
_CORRECTIONS = 3
_LOOK_S, _LOOK_REQUESTS = 0.25, 40
_LOOK_PART = 1 / 8
"""A look lasts for this part of a job, if that is longer: medians of a quarter of a second move by a percent."""


def ramp_s(seconds: float) -> float:
    """Returns what is cut from the start of a job that is measured for `seconds`."""
    return max(0.05, 0.1 * seconds)


@dataclass(frozen=True)
class Settled:
    """A floor that is in force, the number of looks that it took, and the last of them: reads and writes at queue depth 1."""

    floor_ns: int
    looks: int
    last: Measured


def settle(bench: Bench, model: DeviceModel, seconds: float) -> Settled:
    """Finds the floor of `model` and leaves it in force.

    The floor is the time by which p50 at queue depth 1 exceeds the nominal one. The first look measures it with nothing
    subtracted. Further looks, three at most, correct it by what is still missed, until that is at most a quarter of the
    tolerance. A device whose latency varies is held at its median meanwhile, which
    stays in force. The same floor holds for every depth: docs/decisions/ablation.md has what floors for each depth were worth.

    Parameters
    ----------
    bench
        The device under fio.
    model
        The model that is to be in force.
    seconds
        How long a job of the calibration is measured. A look lasts an eighth of that, a quarter of a second, or as long as 40
        requests take, whichever is the longest.

    """
    steady = model.steady()
    nominal_ns = nominal_latency_ns(steady, "read_write", _BLOCK)
    near_ns = summary.latency_tolerance_ns(nominal_ns) / 4
    length_s = max(_LOOK_S, _LOOK_PART * seconds, _LOOK_REQUESTS * nominal_ns / 1e9)
    floor_ns, looks = 0, 0
    while True:
        bench.set(steady, floor_ns=floor_ns)
        last = bench.run(Job("read_write", "random", _BLOCK, 1, ramp_s(seconds) + length_s))
        missed_ns, looks = round(float(np.mean(off_ns(steady, [last], ramp_s(seconds) * 1000)))), looks + 1
        is_near = looks > 1 and abs(missed_ns) <= near_ns
        is_fastest = floor_ns == nominal_ns and missed_ns >= 0
        if is_near or is_fastest or looks > _CORRECTIONS:
            return Settled(floor_ns, looks, last)
        floor_ns = min(max(0, floor_ns + missed_ns), nominal_ns)


def off_ns(model: DeviceModel, measured: list[Measured], ramp_ms: float) -> list[int]:
    """Returns how far p50 is from nominal after the ramp, of the reads and of the writes."""
    off = []
    for each in measured:
        kept = each.requests.after(ramp_ms)
        parts: tuple[tuple[Op, npt.NDArray[np.bool_]], ...] = (("read", ~kept.is_write), ("write", kept.is_write))
        for op, mask in parts:
            if mask.any():
                off.append(int(np.median(kept.latency_ns[mask])) - nominal_latency_ns(model, op, _BLOCK))
    if not off:
        raise TickdiskError(f"no request on {model.name} completed after the ramp; measure for longer")
    return off
