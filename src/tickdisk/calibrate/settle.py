"""What is added to a model's latency: looked at by fio, subtracted, and looked at again."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tickdisk.calibrate import summary
from tickdisk.calibrate.bench import Bench, Measured
from tickdisk.calibrate.fio import Job, Op
from tickdisk.device import DeviceModel
from tickdisk.errors import TickdiskError

_BLOCK = 4 << 10
_CORRECTIONS, _DEEP_LOOKS = 3, 5
_LEAST_NS = 1
"""Without a floor replies would not lead by what the kernel needs to complete them."""
MOST_IOPS = 60_000
"""Above half of what two cores can serve requests wait for the emulator, which no floor can take back."""
_LOOK_S, _LOOK_REQUESTS = 0.25, 40


def ramp_s(seconds: float) -> float:
    """Returns what is cut from the start of a job that is measured for `seconds`."""
    return max(0.05, 0.1 * seconds)


@dataclass(frozen=True)
class Settled:
    """A floor that is in force, the number of looks that it took, and the last of them: reads and writes at queue depth 1."""

    floor_ns: int
    deep_floors: list[tuple[int, int]]
    """Requests in flight, ascending from 2, and the floor in ns with so many."""
    looks: int
    last: Measured


def settle(
    bench: Bench,
    model: DeviceModel,
    seconds: float,
    depths: Sequence[int] = (),
    before: Callable[[], object] = lambda: None,
) -> Settled:
    """Leaves the floor in force: what p50 exceeds nominal by with hardly any, corrected by what then lacks, at most three times.

    Where the kernel tells when requests are completed replies lead by what it needs, and the floor is the rest.

    The same, but at most five times, at those of the greater `depths` where neither the device's own limits nor this machine's
    make requests wait. `before` is called before each look: what comes before the jobs that the floor is for.
    """
    nominal_ns = summary.nominal_latency_ns(model, "read_write", _BLOCK)
    alone, near_ns = _look(1, nominal_ns, seconds), summary.latency_tolerance_ns(nominal_ns) / 4
    floor_ns, looks = min(_LEAST_NS, nominal_ns), 0
    while True:
        bench.set(model, floor_ns=floor_ns)
        before()
        last, looks = bench.run(alone), looks + 1
        missed_ns = _missed_ns(model, last, seconds)
        corrected_ns = min(max(_LEAST_NS, floor_ns + missed_ns), nominal_ns)
        is_near = looks > 1 and abs(missed_ns) <= near_ns
        is_fastest = floor_ns == nominal_ns and missed_ns >= 0
        if is_near or is_fastest or looks > _CORRECTIONS:
            break
        floor_ns = corrected_ns
    deep_floors: list[tuple[int, int]] = []
    for depth in sorted(depth for depth in depths if depth > 1 and _serves(model, nominal_ns, depth)):
        deep_ns = deep_floors[-1][1] if deep_floors else floor_ns
        for _ in range(_DEEP_LOOKS):
            bench.set(model, floor_ns=floor_ns, deep_floors=[*deep_floors, (depth, deep_ns)])
            before()
            missed_ns = _missed_ns(model, bench.run(_look(depth, nominal_ns, seconds)), seconds)
            if abs(missed_ns) <= near_ns:
                break
            deep_ns = min(max(_LEAST_NS, deep_ns + missed_ns), nominal_ns)
        deep_floors.append((depth, deep_ns))
    bench.set(model, floor_ns=floor_ns, deep_floors=deep_floors)
    return Settled(floor_ns, deep_floors, looks, last)


def _look(depth: int, nominal_ns: int, seconds: float) -> Job:
    length_s = max(_LOOK_S, _LOOK_REQUESTS * nominal_ns / 1e9)
    return Job("read_write", "random", _BLOCK, depth, ramp_s(seconds) + length_s)


def _missed_ns(model: DeviceModel, measured: Measured, seconds: float) -> int:
    return round(float(np.mean(off_ns(model, [measured], ramp_s(seconds) * 1000))))


def _serves(model: DeviceModel, nominal_ns: int, depth: int) -> bool:
    """Whether so many requests can all be in service at the same time, at a rate that the emulator reaches."""
    iops = depth * 1e9 / max(nominal_ns, 1)
    piped = (model.bandwidth_bytes_per_s or math.inf) / _BLOCK
    return depth <= (model.channels or depth) and iops <= min(MOST_IOPS, piped)


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
