"""Measures how close emulated devices and other chains are to their models, over queue depths.

fio measures the realised latencies. The nominal ones come from the device's log of the same requests. They are the completion
that the model computed, minus the arrival, before the floor is subtracted.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.calibrate import fio
from tickdisk.calibrate.bench import LIMITS, REPEATS, Bench, Measured, bench, run_unloaded
from tickdisk.calibrate.chains import CHAINS, Chain
from tickdisk.calibrate.fio import Job
from tickdisk.calibrate.points import OURS, SCHEMA_VERSION, ChainName, Fidelity, Pipe, Point
from tickdisk.calibrate.settle import Settled, ramp_s, settle
from tickdisk.calibrate.summary import percentile_ns, percentile_of_runs_ns
from tickdisk.device import NO_DELAY, DeviceModel, read_log
from tickdisk.foundation import host, memory, record
from tickdisk.foundation.errors import TickdiskError

DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
CROSS_DEPTHS, CROSS_NS, CROSS_BYTES_PER_S = (1, 32), 1_000_000, 1_000_000_000
PIPES_BYTES_PER_S = (150e6, 550e6, 1e9, 2e9)
_P99_REQUESTS = 1_100
"""Number of requests of which ten lie beyond the 99th percentile, with a tenth to spare."""
_OPS: tuple[Literal["read", "write"], ...] = ("read", "write")
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
    say: Callable[[str], None] = print,
) -> Fidelity:
    """Measures how close the latencies and bandwidths of emulated devices are to those of their models, and writes `out_path`.

    Each of the `runs` rounds runs every point once, with floors that are found anew. A point is measured for `seconds` in all
    rounds together, or for up to twice as long where that makes p99 estimable. A job is repeated at most `repeats` times while
    the load exceeds `limits`, which are shares of `host.MachineLoad`. The last run is kept, and marked if the machine was
    still too loaded. Two other chains (nbdkit and null_blk) are measured for comparison if this machine has them. If a device or
    fio fails, or if the device's log loses requests, TickdiskError is raised.
    """
    with memory.folder() as fast:
        log, others, crossed, pipes = fast / "device.log", dict[str, str](), list[Point](), list[Pipe]()
        for chain in CHAINS.values():
            lack = chain.lacks()
            others[chain.name] = chain.parts if lack is None else f"not measured: {lack}"
            if lack is None:
                crossed += _cross_check(chain, fast / chain.name, seconds, limits, repeats)
                pipes += _cross_pipes(chain, fast / f"{chain.name}-pipe", seconds, limits, repeats)
        with bench(NO_DELAY, size_bytes=_SIZE_BYTES, folder=fast, limits=limits, log_path=log, repeats=repeats) as table:
            run = _Run(table, seconds, runs)
            for number in range(1, runs + 1):
                bare = settle(table, NO_DELAY, seconds)
                for depth in depths:
                    run.point(NO_DELAY, bare, "read", depth)
                for model in models:
                    settled = settle(table, model, seconds)
                    for depth in depths:
                        for op in _OPS:
                            run.point(model, settled, op, depth)
                    say(f"round {number} of {runs}: {model.name}")
            if table.disk.emulator_status().log_overflow:
                raise TickdiskError("the device's log could not keep up with its requests; run it again on a quieter machine")
            pipes[:0] = [run.pipe(op, int(limit)) for limit in PIPES_BYTES_PER_S for op in _OPS]
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
    record.write(out_path, result)
    return result


def point_seconds(seconds: float, nominal_ns: int, depth: int) -> float:
    """Returns `seconds`, or the longer time in s that p99 needs to be estimable if that is at most twice as long."""
    told_s = _P99_REQUESTS * nominal_ns / depth / 1e9
    return told_s if seconds < told_s <= 2 * seconds else seconds


@dataclass(frozen=True)
class _PointRun:
    """One run of a point."""

    model: DeviceModel
    floor_ns: int
    setting: int
    """Number of the setting of the device, by which its log identifies the run."""
    measured: Measured


_RunWithNominal = tuple[_PointRun, npt.NDArray[np.int64]]
"""A run, and the nominal latencies of its requests in ns."""


class _Run:
    """The jobs that are run on one bench. Each has a setting of its own, by which the device's log distinguishes the jobs."""

    def __init__(self, table: Bench, seconds: float, runs: int) -> None:
        self._bench, self._seconds, self._runs = table, seconds, runs
        self._made: dict[tuple[str, str, int], list[_PointRun]] = {}

    def point(self, model: DeviceModel, settled: Settled, op: Literal["read", "write"], depth: int) -> None:
        length = point_seconds(self._seconds, model.service_ns(_BLOCK, op), depth) / self._runs + self._ramp_s
        setting = self._bench.set(model, floor_ns=settled.floor_ns).number
        made = _PointRun(model, settled.floor_ns, setting, self._bench.run(Job(op, "random", _BLOCK, depth, length)))
        self._made.setdefault((model.name, op, depth), []).append(made)

    @property
    def _ramp_s(self) -> float:
        return ramp_s(self._seconds / self._runs)

    def pipe(self, op: Literal["read", "write"], bytes_per_s: int) -> Pipe:
        """Measures the bandwidth of a device that has only the bandwidth `bytes_per_s`."""
        model = NO_DELAY.model_copy(update={"name": f"pipe_{bytes_per_s // 1_000_000}", "bandwidth_bytes_per_s": bytes_per_s})
        self._bench.set(model, floor_ns=0)
        return _pipe(OURS, bytes_per_s, self._bench.run(_pipe_job(op, self._seconds)))

    def points(self, log: pd.DataFrame) -> list[Point]:
        """Returns the points. Their nominal latencies come from `log`, the device's log of the same requests."""
        log = log[log["length"] == _BLOCK]
        by_setting = dict(tuple(log.groupby(["setting", "op"])))
        return [self._point_of(made, by_setting) for made in self._made.values()]

    def _point_of(self, made: Sequence[_PointRun], by_setting: Mapping[tuple[Hashable, ...], pd.DataFrame]) -> Point:
        return _point(OURS, [(each, self._nominal_ns(each, by_setting)) for each in made], self._ramp_s)

    def _nominal_ns(self, made: _PointRun, by_setting: Mapping[tuple[Hashable, ...], pd.DataFrame]) -> npt.NDArray[np.int64]:
        """Returns the nominal latencies in ns of the requests of a run that arrived after its ramp."""
        job, count = made.measured.job, len(made.measured.requests)
        own = by_setting[made.setting, job.op].tail(count)
        if len(own) < count:
            raise TickdiskError(f"{job.name} on {made.model.name}: the device's log lacks requests; run it again")
        begun_ns = int(own["arrival_ns"].iloc[0]) + int(self._ramp_s * 1e9)
        counted = own[own["arrival_ns"] >= begun_ns]
        return (counted["nominal_ns"] - counted["arrival_ns"]).to_numpy()


def _point(chain: ChainName, runs: Sequence[_RunWithNominal], ramp_s: float) -> Point:
    (made, _), *_ = runs
    jobs = [each.measured for each, _ in runs]
    loads = [measured.load for measured in jobs]
    realised = [measured.requests.after(ramp_s * 1000).latency_ns for measured in jobs]
    nominal = [said_ns for _, said_ns in runs]
    job, p99_runs_ns = jobs[0].job, tuple(percentile_ns(latency_ns, 0.99) for latency_ns in realised)
    if min(map(len, (*realised, *nominal))) == 0:
        raise TickdiskError(f"{job.name} on {made.model.name}: no request after the ramp of {ramp_s:g} s; measure for longer")
    return Point(
        chain=chain,
        device=made.model.name,
        latency_ns=made.model.latency_ns[0 if job.op == "read" else 1],
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
        pressure_memory_share=max(load.pressure_memory_share for load in loads),
        repeats=sum(measured.repeats for measured in jobs),
        too_loaded=any(measured.too_loaded for measured in jobs),
    )


def _pipe_job(op: Literal["read", "write"], seconds: float) -> Job:
    return Job(op, "sequential", _PIPE_BLOCK, _PIPE_DEPTH, max(min(1.0, 5 * seconds), seconds))


def _pipe(chain: ChainName, bytes_per_s: int, measured: Measured) -> Pipe:
    return Pipe(
        chain=chain,
        op="read" if measured.job.op == "read" else "write",
        nominal_bytes_per_s=bytes_per_s,
        bytes_per_s=(measured.requests.requests_per_s or 0) * _PIPE_BLOCK,
        n=len(measured.requests),
        steal_share=measured.load.steal_share,
        pressure_cpu_share=measured.load.pressure_cpu_share,
        pressure_memory_share=measured.load.pressure_memory_share,
        too_loaded=measured.too_loaded,
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
            points.append(_point(chain.name, [(_PointRun(model, 0, 0, measured), said_ns)], ramp_s(seconds)))
    return points


def _cross_pipes(chain: Chain, folder: Path, seconds: float, limits: Mapping[str, float], repeats: int) -> list[Pipe]:
    model = NO_DELAY.model_copy(update={"name": "pipe_cross", "bandwidth_bytes_per_s": CROSS_BYTES_PER_S})
    pipes = []
    with chain.up(model, folder, _SIZE_BYTES // 4) as target:
        for op in _OPS:
            measured = run_unloaded(_pipe_job(op, seconds), target, folder, limits=limits, repeats=repeats)
            pipes.append(_pipe(chain.name, CROSS_BYTES_PER_S, measured))
    return pipes
