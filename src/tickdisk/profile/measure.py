"""Measures a disk by fio: several rounds of all jobs, so that what drifts shows, and every request's own latency."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from tickdisk import host
from tickdisk.calibrate import LIMITS, REPEATS, Job, Target, ramp_s, run_job, until_unloaded
from tickdisk.errors import TickdiskError

Op = Literal["read", "write", "write_flush"]
Latencies = npt.NDArray[np.int64]
Say = Callable[[str], None]

BLOCK_BYTES = 4 << 10
FIT_DEPTHS, HELD_OUT_DEPTHS = (1, 3, 6, 12, 20, 28, 36, 48, 64, 96), (2, 8, 32)
"""Closer where queues build up: from depth 24 to 40 p99 of a disk here grew to 2.4 times, and not evenly."""
ROUNDS = 9
"""At least; a disk that drifts is better known by more of them than by longer ones."""
_ROUND_S = 4 / 3
BEYOND = 10
"""Requests that must lie beyond a percentile for it to be estimable."""
LIMITS_OF_ROUNDS: Mapping[str, float] = {**LIMITS, "steal_share": 0.01}
"""Stricter than elsewhere: where one part in a hundred of the cores' time is stolen, one request in a hundred waits for that."""
_PIPE_BYTES, _PIPE_DEPTH = 1 << 20, 16
_LEAST_REQUESTS = 100
_TURNS, _CUT_TURNS = 12, 3
"""So often each place in the queue is to be taken at least, and so often before latencies count: all requests begin at once."""


@dataclass(frozen=True)
class Sample:
    """4 KiB requests of one kind at one depth, and how loaded the machine was."""

    op: Op
    queue_depth: int
    rounds: tuple[Latencies, ...]
    """Latencies in ns of each round, after its ramp."""
    loads: tuple[host.Load, ...] = ()
    client_cpu_share: float = 0.0
    """For how much of a round fio itself was on its core, at most."""
    repeats: int = 0
    """How many rounds were not kept, because the machine was too loaded in them."""
    too_loaded: bool = False
    """Whether it still was in one of these."""

    @property
    def latency_ns(self) -> Latencies:
        """Of all rounds."""
        return np.concatenate(self.rounds)

    def quantiles(self, shares: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns the latencies in ns that `shares`, ascending, of the requests do not exceed: the median of the rounds.

        So a disturbance of the machine in a minority of the rounds changes nothing. Shares beyond which a round has fewer than
        ten requests are of all rounds together.
        """
        wanted = np.atleast_1d(np.asarray(shares, dtype=float))
        found = np.quantile(self.latency_ns, wanted)
        least = min(len(latency_ns) for latency_ns in self.rounds)
        told = (least * wanted >= BEYOND) & (least * (1 - wanted) >= BEYOND)
        if told.any():
            found[told] = np.median([np.quantile(latency_ns, wanted[told]) for latency_ns in self.rounds], axis=0)
        return np.maximum.accumulate(found)

    @property
    def requests_per_s(self) -> float:
        """By Little's law: the queue was always full."""
        return self.queue_depth / float(self.latency_ns.mean()) * 1e9


@dataclass(frozen=True)
class Measurements:
    """What was measured of a disk."""

    samples: tuple[Sample, ...]
    bandwidth_bytes_per_s: float
    """Of sequential reads."""
    size_bytes: int
    """Of the part of the disk that was asked for."""
    asked_bytes: int
    """Of all requests. More than `size_bytes`: the same places again, which a cache may have known by then."""


def rounds(seconds: float) -> int:
    """Returns how many rounds a measurement with `seconds` for each job has."""
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
    """Returns what fio measures on `target`, `seconds` for each job in all rounds; fio's files go to `folder`.

    Random reads of 4 KiB at every one of `depths` and sequential ones; with `write` writes and a write with fdatasync, too.
    A round of random requests in which the machine was too loaded is made again, at most twice; the last is kept, and marked. The
    bandwidth is the median of its rounds. Every run has
    random places of its own, and sequential reads go on where they ended, as a cache knows what it was asked for before. A queue
    that has turned over a few times only is measured for longer.
    TickdiskError when fio fails.
    """
    count = rounds(seconds)
    length = seconds / count + ramp_s(seconds / count)
    jobs = _jobs(depths, write=write, length=length)
    pipe = Job("read", "sequential", _PIPE_BYTES, _PIPE_DEPTH, length)
    kept: dict[tuple[Op, int], list[_Run]] = {key: [] for key in jobs}
    pipes, begin, asked, seeds = [], 0, 0, itertools.count(1)

    def made(job: Job) -> _Run:
        def once() -> _Run:
            nonlocal asked
            run = _run(job, target, folder, seeds)
            asked += run.bytes
            return run

        run, repeats = until_unloaded(once, REPEATS)
        return replace(run, repeats=repeats)

    for number in range(count):
        say(f"round {number + 1} of {count}: {len(jobs) + 1} jobs, at least {(len(jobs) + 1) * length:.0f} s")
        # There and back, so that no depth is always the first.
        for key in list(jobs)[:: 1 if number % 2 == 0 else -1]:
            run = made(jobs[key])
            if (turns := run.turns) < _TURNS and number == 0:
                jobs[key] = replace(jobs[key], seconds=length * _TURNS / max(turns, 1))
                run = made(jobs[key])
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
class _Run:
    latency_ns: Latencies
    turns: float
    """How often each place in the queue was taken."""
    bytes: int
    bytes_per_s: float
    client_cpu_share: float
    load: host.Load
    repeats: int = 0

    @property
    def too_loaded(self) -> bool:
        return any(getattr(self.load, name) > limit for name, limit in LIMITS_OF_ROUNDS.items())


def _run(job: Job, target: Target, folder: Path, seeds: Iterator[int]) -> _Run:
    assert job.seconds is not None
    meter = host.LoadMeter()
    requests = run_job(replace(job, seed=next(seeds)), target, folder, cores=host.split_cores().server)
    load = meter.read()
    kept = requests.after(ramp_s(job.seconds) * 1000, _CUT_TURNS * job.queue_depth)
    bytes_per_s = (requests.requests_per_s or 0) * job.block_bytes
    turns = len(requests) / job.queue_depth
    return _Run(kept.latency_ns, turns, len(requests) * job.block_bytes, bytes_per_s, requests.cpu_share, load)


def _sample(op: Op, depth: int, runs: Sequence[_Run]) -> Sample:
    made = sum(len(run.latency_ns) for run in runs)
    if made < _LEAST_REQUESTS:
        raise TickdiskError(f"only {made} requests ({op}, queue depth {depth}) were made; give --seconds more")
    return Sample(
        op,
        depth,
        tuple(run.latency_ns for run in runs),
        tuple(run.load for run in runs),
        max(run.client_cpu_share for run in runs),
        sum(run.repeats for run in runs),
        any(run.too_loaded for run in runs),
    )
