"""How faithful the emulated device is, over queue depths, beside other chains: realised against the model's completions.

Realised latencies are fio's, of every request; what the model says is the device's own log of the same requests: completion minus
arrival, before the floor is subtracted. The device's own times of replying decide nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import host, memory, standstill
from tickdisk.calibrate import fio
from tickdisk.calibrate.bench import LIMITS, REPEATS, Bench, Measured, bench, run_unloaded
from tickdisk.calibrate.chains import CHAINS, Chain
from tickdisk.calibrate.fio import Job
from tickdisk.calibrate.points import OURS, SCHEMA_VERSION, STILL_LATE_SHARE, ChainName, Fidelity, Pipe, Point, allowed_p99_ns
from tickdisk.calibrate.settle import MOST_IOPS, Settled, ramp_s, settle
from tickdisk.calibrate.summary import nominal_latency_ns, percentile_ns, percentile_of_runs_ns
from tickdisk.device import NO_DELAY, DeviceModel, read_log
from tickdisk.errors import TickdiskError
from tickdisk.files import write_json

DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
CROSS_DEPTHS, CROSS_NS = (1, 32), 1_000_000
PIPES_BYTES_PER_S = (150e6, 550e6, 1e9, 2e9)
_P99_REQUESTS = 1_100
"""Ten beyond, and some for what is late."""
_LOOK_S = 0.2
_BLOCK, _PIPE_BLOCK, _PIPE_DEPTH, _SIZE_BYTES = 4 << 10, 1 << 20, 16, 1 << 30


def measure_fidelity(
    models: Sequence[DeviceModel],
    *,
    seconds: float,
    out_path: Path,
    runs: int = 1,
    depths: Sequence[int] = DEPTHS,
    limits: Mapping[str, float] = LIMITS,
    repeats: int = REPEATS,
    quiet_repeats: int = 0,
) -> Fidelity:
    """Measures every device at every depth for `seconds`, its bandwidths, and the other chains; returns what it wrote.

    A point lasts up to twice as long where that makes p99 estimable. It has so many `runs`, which share its time; all points are
    measured before one has its next, with floors that are found anew, so that no minute of the machine decides a point, unless
    it is so slow that its runs tell p99 together only.

    A job is run again while the machine's load is above `limits`, at most `repeats` times; the last is kept. A run is repeated
    while the machine stands still so much that p99 shows it, at most `quiet_repeats` times; the one it disturbed least is kept.
    """
    with memory.folder() as fast:
        log, others, crossed = fast / "device.log", dict[str, str](), list[Point]()
        for chain in CHAINS.values():
            lack = chain.lacks()
            others[chain.name] = chain.parts if lack is None else f"not measured: {lack}"
            if lack is None:
                crossed += _cross_check(chain, fast / chain.name, seconds, limits, repeats)
        with bench(NO_DELAY, size_bytes=_SIZE_BYTES, folder=fast, limits=limits, log_path=log, repeats=repeats) as table:
            run = _Run(table, seconds, runs, quiet_repeats)
            for _ in range(runs):
                bare = settle(table, NO_DELAY, seconds, before=_look)
                for depth in depths:
                    run.point(NO_DELAY, bare, "read", depth)
                for model in models:
                    settled = settle(table, model, seconds, depths, before=_look)
                    for depth in depths:
                        for op in ("read", "write"):
                            run.point(model, settled, op, depth)
            if table.disk.status()["log_overflow"]:
                raise TickdiskError("the device's log could not keep up with its requests; run it again on a quieter machine")
            pipes = [run.pipe(op, int(limit)) for limit in PIPES_BYTES_PER_S for op in ("read", "write")]
        points = [*run.points(read_log(log).to_pandas()), *crossed]
    result = Fidelity(
        schema_version=SCHEMA_VERSION,
        machine=host.facts(),
        fio=fio.version(),
        seconds_per_point=seconds,
        limits=dict(limits),
        points=points,
        pipes=pipes,
        others=others,
    )
    write_json(out_path, result.model_dump(mode="json"))
    return result


def lasting_s(seconds: float, nominal_ns: int, depth: int) -> float:
    """Returns how long a point lasts: up to twice `seconds` where p99 is estimable then, and not before."""
    told_s = _P99_REQUESTS * nominal_ns / depth / 1e9
    return told_s if seconds < told_s <= 2 * seconds else seconds


def _look() -> standstill.Standstills:
    """Looks before every job, as cores that have been busy are faster for a while."""
    return standstill.look(_LOOK_S)


@dataclass(frozen=True)
class _Made:
    """A run of a point."""

    model: DeviceModel
    floor_ns: int
    setting: int
    measured: Measured
    late_share: float | None = None
    repeats: int = 0
    """Because the machine was restless."""


_Said = tuple[_Made, npt.NDArray[np.int64]]
"""And what the model said of its requests, in ns."""


class _Run:
    """Jobs on one bench, each under a setting of its own, so that the device's log tells them apart."""

    def __init__(self, table: Bench, seconds: float, runs: int, quiet_repeats: int) -> None:
        self._bench, self._seconds, self._runs, self._quiet_repeats = table, seconds, runs, quiet_repeats
        self._made: list[_Made] = []

    def point(self, model: DeviceModel, settled: Settled, op: Literal["read", "write"], depth: int) -> None:
        """Runs a point; of the repeats of the run the one counts that the machine disturbed least, as seen before and after."""
        nominal_ns = nominal_latency_ns(model, op, _BLOCK)
        length = lasting_s(self._seconds, nominal_ns, depth) / self._runs + self._ramp_s
        job = Job(op, "random", _BLOCK, depth, length)
        floor_ns = dict(settled.deep_floors).get(depth, settled.floor_ns)
        is_beyond = depth * 1e9 > MOST_IOPS * nominal_ns  # it is most likely not held to its model
        tries: list[_Made] = []
        while True:
            number = self._bench.set(model, floor_ns=settled.floor_ns, deep_floors=settled.deep_floors).number
            measured, late_share = self._watched(job, nominal_ns)
            tries.append(_Made(model, floor_ns, number, measured, late_share))
            if (late_share or 0) <= STILL_LATE_SHARE or is_beyond or len(tries) > self._quiet_repeats:
                break
        calmest = min(tries, key=lambda made: made.late_share or 0)
        self._made.append(replace(calmest, repeats=len(tries) - 1))

    @property
    def _ramp_s(self) -> float:
        return ramp_s(self._seconds / self._runs)

    def _watched(self, job: Job, nominal_ns: int) -> tuple[Measured, float | None]:
        """Runs a job after a look at how still the machine stands, and before one, where there is a model to hold it to."""
        before = _look()
        measured = self._bench.run(job)
        if nominal_ns == 0:
            return measured, None
        seen = standstill.both(before, _look())
        return measured, seen.late_share(allowed_p99_ns(nominal_ns), nominal_ns)

    def pipe(self, op: Literal["read", "write"], bytes_per_s: int) -> Pipe:
        """Measures a bandwidth."""
        model = NO_DELAY.model_copy(update={"name": f"pipe_{bytes_per_s // 1_000_000}", "bandwidth_bytes_per_s": bytes_per_s})
        self._bench.set(model, floor_ns=0)
        measured = self._bench.run(Job(op, "sequential", _PIPE_BLOCK, _PIPE_DEPTH, max(1.0, self._seconds)))
        return Pipe(
            op=op,
            nominal_bytes_per_s=bytes_per_s,
            bytes_per_s=(measured.requests.requests_per_s or 0) * _PIPE_BLOCK,
            n=len(measured.requests),
            steal_share=measured.load.steal_share,
            too_loaded=measured.too_loaded,
        )

    def points(self, log: pd.DataFrame) -> list[Point]:
        """Returns the points, with what the log says that the model said of the same requests."""
        log = log[log["length"] == _BLOCK]
        by_setting = dict(tuple(log.groupby(["setting", "op"])))
        said: dict[tuple[str, str, int], list[_Said]] = {}
        for made in self._made:
            job = made.measured.job
            own = by_setting[made.setting, job.op].tail(len(made.measured.requests))
            if len(own) < len(made.measured.requests):
                raise TickdiskError(f"{job.name} on {made.model.name}: the device's log lacks requests; run it again")
            begun_ns = int(own["arrival_ns"].iloc[0]) + int(self._ramp_s * 1e9)
            kept = own[own["arrival_ns"] >= begun_ns]
            said_ns = (kept["nominal_ns"] - kept["arrival_ns"]).to_numpy()
            said.setdefault((made.model.name, job.op, job.queue_depth), []).append((made, said_ns))
        return [_point(OURS, runs, self._ramp_s) for runs in said.values()]


def _point(chain: ChainName, runs: Sequence[_Said], ramp_s: float) -> Point:
    (made, _), *_ = runs
    jobs, loads = [each.measured for each, _ in runs], [each.measured.load for each, _ in runs]
    realised = [measured.requests.after(ramp_s * 1000).latency_ns for measured in jobs]
    nominal = [said_ns for _, said_ns in runs]
    job, p99_runs_ns = made.measured.job, tuple(percentile_ns(latency_ns, 0.99) for latency_ns in realised)
    if min(map(len, (*realised, *nominal))) == 0:
        raise TickdiskError(f"{job.name} on {made.model.name}: no request after the ramp of {ramp_s:g} s; measure for longer")
    late_shares = [each.late_share for each, _ in runs if each.late_share is not None]
    # Of all requests together one run can decide p99.
    of_runs = np.mean if None in p99_runs_ns else np.median
    return Point(
        chain=chain,
        device=made.model.name,
        latency_ns=made.model.latency_ns[0],
        op="read" if job.op == "read" else "write",
        queue_depth=job.queue_depth,
        runs=len(runs),
        n=sum(map(len, realised)),
        p50_ns=_median([np.median(latency_ns) for latency_ns in realised]),
        p99_ns=percentile_of_runs_ns(realised, 0.99),
        p99_runs_ns=p99_runs_ns,
        p999_ns=percentile_of_runs_ns(realised, 0.999),
        nominal_p50_ns=_median([np.median(said_ns) for said_ns in nominal]),
        nominal_p99_ns=percentile_of_runs_ns(nominal, 0.99),
        nominal_p999_ns=percentile_of_runs_ns(nominal, 0.999),
        iops=float(np.median([measured.requests.requests_per_s or 0.0 for measured in jobs])),
        nominal_iops=float(np.median([job.queue_depth * 1e9 / max(float(said_ns.mean()), 1.0) for said_ns in nominal])),
        floor_ns=_median([each.floor_ns for each, _ in runs]),
        steal_share=max(load.steal_share for load in loads),
        pressure_cpu_share=max(load.pressure_cpu_share for load in loads),
        late_share=float(of_runs(late_shares)) if late_shares else None,
        repeats=sum(each.measured.repeats + each.repeats for each, _ in runs),
        too_loaded=any(measured.too_loaded for measured in jobs),
    )


def _median(each: Sequence[float]) -> int:
    return int(np.median(each))


def _cross_check(chain: Chain, folder: Path, seconds: float, limits: Mapping[str, float], repeats: int) -> list[Point]:
    ops = {f"{op}_latency_ns": CROSS_NS for op in ("read", "write", "flush")}
    model = DeviceModel.model_validate({"name": "latency_1ms", **ops})
    points = []
    with chain.up(model, folder, _SIZE_BYTES // 4) as target:
        for depth in CROSS_DEPTHS:
            job = Job("read", "random", _BLOCK, depth, max(1.0, seconds) + ramp_s(seconds))
            measured = run_unloaded(job, target, folder, limits=limits, repeats=repeats)
            said_ns = np.array([CROSS_NS] * len(measured.requests))
            points.append(_point(chain.name, [(_Made(model, 0, 0, measured), said_ns)], ramp_s(seconds)))
    return points
