"""Runs workloads on pools in simulated time, and describes how fast the pools served them."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk._native import run_pool
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError
from tickdisk.pools.layout import Pool
from tickdisk.pools.workload import PAGE_BYTES, Workload

GROUPS = ("data", "metadata", "tier")
Rule = Literal["last_ended", "highest"]


@dataclass(frozen=True)
class Settings:
    """The settings of a run, under the names that the publication gives them."""

    pools: int = 1
    """Number of equal pools that run at the same time, each with its own devices and its own workload (NSIMPOOL)."""
    queue_depth: int = 32
    """Most requests in service in a pool at the same time (QD)."""
    most_pages: int = 2048
    """Most pages in service in a pool at the same time (QPG)."""
    rule: Rule = "last_ended"
    """Reading of the published dependency: the request that ended last, or the one with the highest number among those ended."""
    is_timed: bool = False
    """Whether requests also wait for their time in the capture."""


@dataclass(frozen=True)
class PoolRun:
    """The run of one workload on one pool. Arrays have the shape (n,), with a time for each request."""

    workload: Workload
    ready_ns: NDArray[np.int64]
    """Time from which only the queue kept the request waiting."""
    started_ns: NDArray[np.int64]
    """Time at which the pool began to serve the request."""
    done_ns: NDArray[np.int64]
    reads: int
    """Parts of reads. A request has a part in each segment that it touches."""
    prewrites: int
    """Parts of writes that were the first to their segment."""
    postwrites: int
    """Parts of later writes."""
    splits: int
    """Places at which requests were split because they cross from one segment to the next."""
    served: pd.DataFrame
    """One row per device: group (`data`, `metadata` or `tier`), device (its number), reads, read_bytes, writes, write_bytes."""
    moved: int
    """Segments that left the tier for the data devices."""

    @property
    def holds_identity(self) -> bool:
        """Whether the number of requests is reads plus first and later writes less splits, as the publication means it."""
        return len(self.done_ns) == self.reads + self.prewrites + self.postwrites - self.splits

    @property
    def elapsed_s(self) -> float:
        """Time in s until the last request was done."""
        return float(self.done_ns.max()) / 1e9

    @property
    def bytes(self) -> int:
        """Bytes of all requests, with those of inserted writes."""
        return int(self.workload.requests["pages"].sum()) * PAGE_BYTES

    @property
    def own(self) -> NDArray[np.bool_]:
        """Whether a request is one of the trace, and not an inserted write."""
        return np.asarray(self.workload.requests["is_inserted"].to_numpy() == 0)

    @property
    def own_bytes(self) -> int:
        """Bytes of the requests of the trace."""
        return int(self.workload.requests["pages"].to_numpy()[self.own].sum()) * PAGE_BYTES

    @property
    def waited_ns(self) -> NDArray[np.int64]:
        """Latency of each request as the publication defines it: from its time to the start of its service."""
        return self.started_ns - self.ready_ns

    @property
    def response_ns(self) -> NDArray[np.int64]:
        """Time of each request from being ready to being done."""
        return self.done_ns - self.ready_ns


@dataclass(frozen=True)
class PoolsOutcome:
    """The runs of all pools of a simulation."""

    runs: Sequence[PoolRun]

    @property
    def elapsed_s(self) -> float:
        """Time in s until the last request of all pools was done."""
        return max(run.elapsed_s for run in self.runs)

    @property
    def mb_per_s(self) -> float:
        """Megabytes per second of all pools together, over the elapsed time. NaN if no time passed."""
        return sum(run.bytes for run in self.runs) / self.elapsed_s / 1e6 if self.elapsed_s > 0 else np.nan

    @property
    def own_mb_per_s(self) -> float:
        """Megabytes per second of the requests of the traces, without inserted writes, over the elapsed time."""
        return sum(run.own_bytes for run in self.runs) / self.elapsed_s / 1e6 if self.elapsed_s > 0 else np.nan

    def total(self, name: Literal["reads", "prewrites", "postwrites", "splits", "moved"]) -> int:
        """Returns the sum of a count of `PoolRun`, given by its name, over all pools."""
        return sum(int(getattr(run, name)) for run in self.runs)

    @property
    def device_bytes(self) -> dict[str, int]:
        """Bytes that devices read and wrote, by `reads` and `writes`, over all pools."""
        return {f"{op}s": sum(int(run.served[f"{op}_bytes"].sum()) for run in self.runs) for op in ("read", "write")}


def simulate(
    workloads: Sequence[Workload], pool: Pool, devices: Mapping[str, DeviceModel], settings: Settings | None = None
) -> PoolsOutcome:
    """Runs workloads on equal pools in simulated time.

    A request is issued when the one that it depends on is done, and when the queue has room. A pool has its own devices, so that
    pools do not disturb each other. Pool k runs workload k, and begins again with the first when there are more pools than
    workloads. Without settings, there is one pool with a queue of 32 requests.

    Raises TickdiskError if there are fewer pools than workloads, a device is not known, or the trace of a workload has no
    latencies and the run is not at its times.
    """
    settings = settings or Settings()
    if settings.pools < len(workloads):
        raise TickdiskError(f"{len(workloads)} workloads need as many pools, and there are {settings.pools}; give more pools")
    for workload in workloads:
        if not workload.knows_dependencies and not settings.is_timed:
            raise TickdiskError(
                f"{workload.name} has no latencies, so nobody knows what a request waited for; run it at its times by --timed"
            )
    jobs = [
        (workloads[number % len(workloads)], pool.parameters(devices, seed=1000 * number)) for number in range(settings.pools)
    ]
    if len(jobs) == 1:
        return PoolsOutcome([_run(*jobs[0], settings)])
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        return PoolsOutcome(list(workers.map(lambda job: _run(job[0], job[1], settings), jobs)))


def _run(workload: Workload, pool: Mapping[str, Any], settings: Settings) -> PoolRun:
    dependencies = workload.last_ended if settings.rule == "last_ended" else workload.highest
    times, (reads, prewrites, postwrites, splits), served, moved = run_pool(
        workload.columns(),
        dependencies.astype("int64").tobytes(),
        pool,
        {"queue_depth": settings.queue_depth, "most_pages": settings.most_pages, "is_timed": settings.is_timed},
    )
    rows = [
        {
            "group": group,
            "device": number,
            "reads": counts[0],
            "read_bytes": counts[1],
            "writes": counts[2],
            "write_bytes": counts[3],
        }
        for group, devices in zip(GROUPS, served, strict=True)
        for number, counts in enumerate(devices)
    ]
    ready_ns, started_ns, done_ns = (np.frombuffer(column, dtype="int64") for column in times)
    devices = pd.DataFrame(rows)
    return PoolRun(workload, ready_ns, started_ns, done_ns, reads, prewrites, postwrites, splits, devices, moved)


def density(latency_ns: NDArray[np.int64], groups: int = 10) -> pd.DataFrame:
    """Divides latencies, from the smallest to the largest, into groups of equal number (Shape, latency density).

    Returns one row per group: requests, and least_us and most_us of the group. With fewer latencies than groups, each is a group.
    """
    parts = np.array_split(np.sort(latency_ns), min(groups, len(latency_ns)))
    rows = [{"requests": len(part), "least_us": part[0] / 1e3, "most_us": part[-1] / 1e3} for part in parts]
    return pd.DataFrame(rows)
