"""The emulator's own latency under a model: looked at by fio, subtracted, and looked at again."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tickdisk.calibrate import summary
from tickdisk.calibrate.bench import Bench, Measured
from tickdisk.calibrate.fio import Job, Op
from tickdisk.device import DeviceModel
from tickdisk.errors import TickdiskError

_BLOCK = 4 << 10
_CORRECTIONS = 2
_LOOK_S, _LOOK_REQUESTS = 0.25, 40


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
    """Leaves the floor in force: what p50 exceeds nominal by without one, corrected by what is then missing, at most twice."""
    nominal_ns = summary.nominal_latency_ns(model, "read_write", _BLOCK)
    look = Job("read_write", "random", _BLOCK, 1, ramp_s(seconds) + max(_LOOK_S, _LOOK_REQUESTS * nominal_ns / 1e9))
    floor_ns, looks = 0, 0
    while True:
        bench.set(model, floor_ns=floor_ns)
        last, looks = bench.run(look), looks + 1
        missed_ns = float(np.mean(off_ns(model, [last], ramp_s(seconds) * 1000)))
        corrected_ns = min(max(0, floor_ns + round(missed_ns)), nominal_ns)
        if (looks > 1 and abs(missed_ns) <= summary.latency_tolerance_ns(nominal_ns) / 2) or looks > _CORRECTIONS:
            return Settled(floor_ns, looks, last)
        floor_ns = corrected_ns
        if floor_ns == nominal_ns:  # below the floor: it cannot get any faster
            bench.set(model, floor_ns=floor_ns)
            return Settled(floor_ns, looks, last)


def off_ns(model: DeviceModel, measured: list[Measured], ramp_ms: float) -> list[int]:
    """Returns how far p50 is from nominal after the ramp, of the reads and of the writes."""
    off = []
    for each in measured:
        kept = each.requests.after(ramp_ms)
        parts: tuple[tuple[Op, npt.NDArray[np.bool_]], ...] = (("read", ~kept.is_write), ("write", kept.is_write))
        for op, mask in parts:
            if mask.any():
                off.append(int(np.median(kept.latency_ns[mask])) - summary.nominal_latency_ns(model, op, _BLOCK))
    if not off:
        raise TickdiskError(f"no request on {model.name} completed after the ramp; measure for longer")
    return off
