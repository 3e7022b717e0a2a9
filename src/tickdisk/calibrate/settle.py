"""What is added to a model's latency: looked at by fio, subtracted, and looked at again."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from tickdisk.calibrate import summary
from tickdisk.calibrate.bench import Bench, Measured
from tickdisk.calibrate.fio import Job, Op
from tickdisk.calibrate.nominal import nominal_latency_ns
from tickdisk.device import OPS, DeviceModel, QuantilesByInflight, Tail, simulate_closed
from tickdisk.errors import TickdiskError

_BLOCK = 4 << 10
_CORRECTIONS, _DEEP_LOOKS = 3, 5
_LEAST_NS = 1
"""Without a floor replies would not lead by what the kernel needs to complete them."""
MOST_IOPS = 75_000
"""Above half of what two cores can serve requests wait for the emulator, which no floor can take back."""
_LIVELY_IOPS = 20_000
"""With more a second it matters how they are spread, because they compete for cores."""
LEAST_GAIN = 0.25
"""By so much of what a floor is longer p50 must fall: where it does not the machine is busy, and only others come early."""
_LOOK_S, _LOOK_REQUESTS = 0.25, 40
_LOOK_PART = 1 / 8
"""Of a job, if that is longer: who measures for long wants to know better; medians of a quarter of a second move by a percent."""
Around = Callable[[Callable[[], Measured]], Measured]
"""Makes a look, maybe more than once."""
_SIMULATED = 20_000
"""Requests; many for each place in a queue."""


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
    tails: Sequence[Tail] = ()
    """What is subtracted from long latencies beside it (`settle_tails`)."""


def settle(
    bench: Bench,
    model: DeviceModel,
    seconds: float,
    depths: Sequence[int] = (),
    around: Around = lambda run: run(),
    most_iops: float = MOST_IOPS,
) -> Settled:
    """Leaves the floor in force: what p50 exceeds nominal by with hardly any, corrected by what then lacks, at most three times.

    Where the kernel tells when requests are completed replies lead by what it needs, and the floor is the rest. A device whose
    latency varies is held at its median meanwhile, which stays in force.

    The same, but at most five times, at those of the greater `depths` where the device's own limits do not make requests wait and
    no more than `most_iops` are asked of this machine; where many are, the latency is left to vary. The floor that came nearest
    is taken, and none that took nothing back. `around` makes each look, as the jobs that it is for are made.
    """
    steady = model.steady()
    look = _Look(bench, seconds, around)
    floor_ns, looks, last = _alone(look, steady)
    deep_floors: list[tuple[int, int]] = []
    for depth in sorted(depth for depth in depths if depth > 1):
        held = crowded(model, depth)
        iops = depth * 1e9 / max(_nominal_ns(held), 1)
        if serves(held, depth) and iops <= most_iops:
            looked_at = _free(model) if iops > _LIVELY_IOPS and _tells_median(model, depth, iops) else held
            deep_floors.append((depth, _together(look, looked_at, held, depth, floor_ns, deep_floors)))
    bench.set(steady, floor_ns=floor_ns, deep_floors=deep_floors)
    return Settled(floor_ns, deep_floors, looks, last)


def _alone(look: "_Look", steady: DeviceModel) -> tuple[int, int, Measured]:
    """Returns the floor at queue depth 1, how many looks it took, and the last."""
    floor_ns, looks = min(_LEAST_NS, _nominal_ns(steady)), 0
    while True:
        look.bench.set(steady, floor_ns=floor_ns)
        last = look.at(1, steady)
        missed_ns, looks = look.missed_ns(steady, last), looks + 1
        is_near = looks > 1 and _is_near(steady, missed_ns)
        is_fastest = floor_ns == _nominal_ns(steady) and missed_ns >= 0
        if is_near or is_fastest or looks > _CORRECTIONS:
            return floor_ns, looks, last
        floor_ns = _corrected_ns(steady, floor_ns + missed_ns)


def _together(
    look: "_Look", looked_at: DeviceModel, held: DeviceModel, depth: int, floor_ns: int, deep_floors: list[tuple[int, int]]
) -> int:
    """Returns the floor with `depth` in flight with which `looked_at` came nearest to `held`, beside those that are found."""
    tried: list[tuple[int, int]] = []
    next_ns = deep_floors[-1][1] if deep_floors else floor_ns
    for _ in range(_DEEP_LOOKS):
        look.bench.set(looked_at, floor_ns=floor_ns, deep_floors=[*deep_floors, (depth, next_ns)])
        missed_ns = look.missed_ns(held, look.at(depth, held))
        if tried:
            nearest_ns, least_ns = _nearest(tried)
            longer_ns = next_ns - nearest_ns
            if longer_ns > 0 and least_ns - missed_ns < LEAST_GAIN * longer_ns:
                break
        tried.append((next_ns, missed_ns))
        next_ns = _corrected_ns(held, next_ns + missed_ns)
        if _is_near(held, missed_ns) or next_ns in (floor for floor, _ in tried):
            break
    return _nearest(tried)[0]


def _nearest(tried: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Of floors and what was missed with each the pair that missed least."""
    return min(tried, key=lambda pair: abs(pair[1]))


@dataclass(frozen=True)
class _Look:
    """Looks at what p50 is in fact."""

    bench: Bench
    seconds: float
    around: Around

    def at(self, depth: int, model: DeviceModel) -> Measured:
        length_s = max(_LOOK_S, _LOOK_PART * self.seconds, _LOOK_REQUESTS * _nominal_ns(model) / 1e9)
        job = Job("read_write", "random", _BLOCK, depth, ramp_s(self.seconds) + length_s)
        return self.around(partial(self.bench.run, job))

    def missed_ns(self, model: DeviceModel, measured: Measured) -> int:
        return round(float(np.mean(off_ns(model, [measured], ramp_s(self.seconds) * 1000))))


def _nominal_ns(model: DeviceModel) -> int:
    return nominal_latency_ns(model, "read_write", _BLOCK)


def _near_ns(model: DeviceModel) -> float:
    return summary.latency_tolerance_ns(_nominal_ns(model)) / 4


def _is_near(model: DeviceModel, missed_ns: int) -> bool:
    return abs(missed_ns) <= _near_ns(model)


def _corrected_ns(model: DeviceModel, floor_ns: int) -> int:
    return min(max(_LEAST_NS, floor_ns), _nominal_ns(model))


def without_history(model: DeviceModel) -> DeviceModel:
    """Returns the device as it is when nothing depends on what was done before; writes take what they take into its cache."""
    write = {} if model.cache is None else {"write_latency_ns": model.cache.latency_ns}
    return model.model_copy(update={"credits": (), "seek": None, "stalls": None, "cache": None, **write})


def _free(model: DeviceModel) -> DeviceModel:
    """Returns the device with its latencies and no queue for anything."""
    return without_history(model).model_copy(update={"channels": None, "bandwidth_bytes_per_s": None})


def _closed_ns(model: DeviceModel, depth: int, op: Op) -> npt.NDArray[np.int64]:
    """Returns latencies of `depth` requests that are always in the device, and queue for nothing there."""
    arrivals_ns, completions_ns = simulate_closed(_free(model), depth, np.full(_SIMULATED, OPS.index(op)), 0, _BLOCK)
    return (completions_ns - arrivals_ns)[_SIMULATED // 2 :]


def crowded(model: DeviceModel, depth: int) -> DeviceModel:
    """Returns the device held at its median while `depth` requests are in it, if their number decides."""
    steady, kinds = model.steady(), (model.read_latency_ns, _free(model).write_latency_ns)
    if not model.load and not any(isinstance(kind, QuantilesByInflight) for kind in kinds):
        return steady
    ops: tuple[Op, ...] = ("read", "write")
    return steady.model_copy(update={f"{op}_latency_ns": round(float(np.median(_closed_ns(model, depth, op)))) for op in ops})


def _tells_median(model: DeviceModel, depth: int, iops: float) -> bool:
    """Whether the device varies, and a look at it tells its medians; it does not where hardly any request takes that long."""
    if isinstance(model.read_latency_ns, int) and isinstance(_free(model).write_latency_ns, int):
        return False
    ops: tuple[Op, ...] = ("read", "write")
    beside = 0.5 / math.sqrt(_LOOK_S * iops / len(ops))
    errors_ns = [np.diff(np.quantile(_closed_ns(model, depth, op), [0.5 - beside, 0.5 + beside]))[0] / 2 for op in ops]
    return bool(max(errors_ns) <= _near_ns(crowded(model, depth)))


def serves(model: DeviceModel, depth: int) -> bool:
    """Whether so many requests can all be in service at the same time."""
    piped = (model.bandwidth_bytes_per_s or math.inf) / _BLOCK
    return depth <= (model.channels or depth) and depth * 1e9 / max(_nominal_ns(model), 1) <= piped


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
