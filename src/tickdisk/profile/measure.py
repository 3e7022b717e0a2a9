"""The measurement of a disk by fio, which gives the latency of every request, in several rounds that show if the disk drifts."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from tickdisk.calibrate import LIMITS, REPEATS, Job, Target, ramp_s, repeat_while_too_loaded, run_job
from tickdisk.foundation import host
from tickdisk.foundation.errors import TickdiskError

Op = Literal["read", "write", "write_flush"]
Latencies = npt.NDArray[np.int64]
Say = Callable[[str], None]

BLOCK_BYTES = 4 << 10
FIT_DEPTHS, HELD_OUT_DEPTHS = (1, 3, 6, 12, 20, 28, 36, 48, 64, 96), (2, 8, 32)
"""Queue depths that are used for the fit, and those that are held out. They are closer together where queues build up: from depth
24 to 40, p99 of one disk grew by a factor of 2.4, and not evenly."""
ROUNDS = 9
"""Least number of rounds. More rounds describe a disk that drifts better than longer rounds."""
_ROUND_S = 4 / 3
"""Time of a job in one round in s, if that gives more than the least number of rounds."""
BEYOND = 10
"""Number of requests that must lie beyond a percentile for it to be estimable."""
LIMITS_OF_ROUNDS: Mapping[str, float] = {**LIMITS, "steal_share": 0.01}
"""Shares of `host.MachineLoad` above which a round is repeated. The limit of stolen time is stricter than elsewhere, because if a
hundredth of the cores' time is stolen, one request in a hundred waits for it."""
_PIPE_BYTES, _PIPE_DEPTH = 1 << 20, 16
_LEAST_REQUESTS, _ENOUGH_REQUESTS = 100, 150
"""Number of requests that a sample has at least, and number for which a job is measured, as its first run may be a fast one."""
_TURNS, _CUT_TURNS = 12, 3
"""Least number of times that each place in the queue is taken, and number of times before latencies count. The first requests do
not count because all begin at once."""


@dataclass(frozen=True)
class Sample:
    """The latencies of 4 KiB requests of one kind at one queue depth, and the load of the machine."""

    op: Op
    """Kind of the requests. `write_flush` is a write together with its flush."""
    queue_depth: int
    rounds: tuple[Latencies, ...]
    """Latencies in ns of each round, without its ramp, which is its beginning."""
    loads: tuple[host.MachineLoad, ...] = ()
    """Load of the machine in each round."""
    client_cpu_share: float = 0.0
    """Largest share of a round in which fio itself was running on its core."""
    repeats: int = 0
    """Number of rounds that were dropped because the machine was too loaded in them."""
    too_loaded: bool = False
    """Whether the machine was too loaded in a round that was kept."""

    @property
    def latency_ns(self) -> Latencies:
        """The latencies in ns of all rounds together."""
        return np.concatenate(self.rounds)

    def quantiles(self, shares: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns the latencies in ns that these ascending `shares` of the requests do not exceed, never descending, shape (n,).

        They are medians of the rounds, so that a disturbance in a minority of the rounds changes nothing. If a round has fewer
        than ten requests beyond a share, on either side, the quantile of all rounds together is taken.
        """
        at = np.atleast_1d(np.asarray(shares, dtype=float))
        values = np.quantile(self.latency_ns, at)
        least = min(len(latency_ns) for latency_ns in self.rounds)
        told = (least * at >= BEYOND) & (least * (1 - at) >= BEYOND)
        if told.any():
            values[told] = np.median([np.quantile(latency_ns, at[told]) for latency_ns in self.rounds], axis=0)
        return np.maximum.accumulate(values)

    @property
    def requests_per_s(self) -> float:
        """The requests per second that the disk completed, by Little's law from the mean latency, as the queue was full."""
        return self.queue_depth / float(self.latency_ns.mean()) * 1e9


@dataclass(frozen=True)
class Measurements:
    """The measurements of a disk by fio, to which `fit` fits a model. `measure` returns it."""

    samples: tuple[Sample, ...]
    bandwidth_bytes_per_s: float
    """Bandwidth of sequential reads."""
    size_bytes: int
    """Size of the part of the disk that requests were made to."""
    asked_bytes: int
    """Size of all requests together. If it exceeds `size_bytes`, places were asked for again, and a cache may have had them."""


def rounds(seconds: float) -> int:
    """Returns the number of rounds of a measurement that has `seconds` for each job in all rounds together."""
    return max(ROUNDS, round(seconds / _ROUND_S))


def measure(
    target: Target,
    *,
    write: bool,
    seconds: float,
    folder: Path,
    depths: Sequence[int] = (*FIT_DEPTHS, *HELD_OUT_DEPTHS),
    say: Say = print,
) -> Measurements:
    """Measures with fio how long requests take on a disk at several queue depths, so that a model can be fitted to it.

    The jobs are random reads of 4 KiB at each queue depth, and sequential reads of 1 MiB, whose median over the rounds is the
    bandwidth. With `write`, there are also random writes of 4 KiB at each depth, and writes with fdatasync, which overwrite
    `target`. `seconds` is the time of each job in all rounds together. A cache remembers what it was asked for, so each run has
    other random places, and sequential reads go on where the last ones ended. A job in which each place in the queue was taken
    only a few times, or whose rounds together would have few requests, is measured for longer. If the machine was too loaded in a
    round of a job of random requests, the round of this job is repeated at most twice. The last run is kept, and marked if the
    machine was still too loaded. Raises TickdiskError if fio fails, or if there are fewer than 100 requests in a sample.
    """
    count = rounds(seconds)
    length = seconds / count + ramp_s(seconds / count)
    jobs = _jobs(depths, write=write, length=length)
    pipe = Job("read", "sequential", _PIPE_BYTES, _PIPE_DEPTH, length)
    kept: dict[tuple[Op, int], list[_FioRun]] = {key: [] for key in jobs}
    pipes, begin, asked, seeds = [], 0, 0, itertools.count(1)

    def measured_run(job: Job) -> _FioRun:
        def once() -> _FioRun:
            nonlocal asked
            run = _run(job, target, folder, seeds)
            asked += run.bytes
            return run

        run, repeats = repeat_while_too_loaded(once, REPEATS)
        return replace(run, repeats=repeats)

    for number in range(count):
        say(f"round {number + 1} of {count}: {len(jobs) + 1} jobs, at least {(len(jobs) + 1) * length:.0f} s")
        # The order is reversed in every second round, so that no depth is always measured first.
        for key in list(jobs)[:: 1 if number % 2 == 0 else -1]:
            run = measured_run(jobs[key])
            if (longer := _longer(run, count)) > 1 and number == 0:
                jobs[key] = replace(jobs[key], seconds=length * longer)
                run = measured_run(jobs[key])
            kept[key].append(run)
        rest = Target(target.path, target.offset + begin, target.size_bytes - begin)
        piped = _run(pipe, rest, folder, seeds)
        pipes.append(piped.bytes_per_s)
        asked += piped.bytes
        begin += piped.bytes
        if target.size_bytes - begin < piped.bytes:
            begin = 0
    samples = tuple(_sample(op, depth, runs) for (op, depth), runs in kept.items())
    return Measurements(samples, float(np.median(pipes)), target.size_bytes, asked)


def _jobs(depths: Sequence[int], *, write: bool, length: float) -> dict[tuple[Op, int], Job]:
    jobs: dict[tuple[Op, int], Job] = {}
    for depth in sorted(depths):
        jobs["read", depth] = Job("read", "random", BLOCK_BYTES, depth, length)
        if write:
            jobs["write", depth] = Job("write", "random", BLOCK_BYTES, depth, length)
    if write:
        jobs["write_flush", 1] = Job("pwrite_fdatasync", "random", BLOCK_BYTES, 1, length)
    return jobs


@dataclass(frozen=True)
class _FioRun:
    latency_ns: Latencies
    turns: float
    """Number of times that each place in the queue was taken."""
    bytes: int
    bytes_per_s: float
    client_cpu_share: float
    load: host.MachineLoad
    repeats: int = 0

    @property
    def too_loaded(self) -> bool:
        return any(getattr(self.load, name) > limit for name, limit in LIMITS_OF_ROUNDS.items())


def _longer(run: _FioRun, rounds: int) -> float:
    """Returns how many times as long as the first run of a job its runs must be. It is at most 1 if they are long enough."""
    kept = max(len(run.latency_ns), 1)
    return max(_TURNS / max(run.turns, 1), _ENOUGH_REQUESTS / (rounds * kept))


def _run(job: Job, target: Target, folder: Path, seeds: Iterator[int]) -> _FioRun:
    assert job.seconds is not None
    meter = host.LoadMeter()
    requests = run_job(replace(job, seed=next(seeds)), target, folder, cores=host.split_cores().server)
    load = meter.read()
    kept = requests.after(ramp_s(job.seconds) * 1000, _CUT_TURNS * job.queue_depth)
    bytes_per_s = (requests.requests_per_s or 0) * job.block_bytes
    turns = len(requests) / job.queue_depth
    return _FioRun(kept.latency_ns, turns, len(requests) * job.block_bytes, bytes_per_s, requests.cpu_share, load)


def _sample(op: Op, depth: int, runs: Sequence[_FioRun]) -> Sample:
    requests = sum(len(run.latency_ns) for run in runs)
    if requests < _LEAST_REQUESTS:
        raise TickdiskError(f"only {requests} requests ({op}, queue depth {depth}) were made; give a larger --seconds")
    return Sample(
        op,
        depth,
        tuple(run.latency_ns for run in runs),
        tuple(run.load for run in runs),
        max(run.client_cpu_share for run in runs),
        sum(run.repeats for run in runs),
        any(run.too_loaded for run in runs),
    )
