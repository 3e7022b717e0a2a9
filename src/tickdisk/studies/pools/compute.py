"""Runs the captured workloads on pools of several layouts, depths and numbers, with several seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import device, formats, stats
from tickdisk.experiment import POOLS
from tickdisk.foundation.record import Record
from tickdisk.foundation.yaml_file import read_section
from tickdisk.pools import Pool, PoolsOutcome, Settings, Workload, density, load_pools, simulate, workload_of
from tickdisk.project import read_plan
from tickdisk.studies.published import load_findings
from tickdisk.studies.rules import decide_by

MAIN = "tiered"
"""Pool on which queue depths and numbers of pools are varied. It is the published configuration."""
SMALL, LARGE = 24, 32
"""The two queue depths of the published table."""


class PublishedRow(Record, strict=True):
    """A row of the published table of results."""

    pools: int
    queue_depth: int
    workload: str
    """Phase of the workload: p1 is the load of the database, p2 its transactions."""
    mb_per_s: float
    elapsed_s: float
    prewrites: int | None = None
    """First writes to a segment. None where the table has no number, as in the following two."""
    postwrites: int | None = None
    reads: int | None = None


class Published(Record):
    """The published table of results."""

    source: str
    rows: list[PublishedRow]


@dataclass(frozen=True)
class Results:
    """The results of the study of pools."""

    workloads: Mapping[str, Workload]
    """The captured workloads by phase."""
    runs: pd.DataFrame
    """One row per simulation: workload, pool, pools, queue_depth, rule, seed, mb_per_s, elapsed_s, wait_p50_us, wait_p99_us,
    response_p50_us, response_p99_us, reads, prewrites, postwrites, splits, requests, holds_identity, device_reads and
    device_writes (bytes of devices over bytes of requests), and moved (segments that left the tier)."""
    densities: Mapping[str, pd.DataFrame]
    """Latency density of each workload on one `MAIN` pool with the larger published depth, by phase."""
    described: Mapping[str, Pool]
    depths: Sequence[int]
    rules: stats.DecisionPlan
    published: Published
    findings: Mapping[str, stats.Finding]

    def of(self, **asked: object) -> pd.DataFrame:
        """Returns the rows of `runs` with the given values, in the order of their seeds.

        One pool, the rule of the last ended and the pool `MAIN` are taken unless others are asked for.
        """
        rows = self.runs
        for name, value in {"pool": MAIN, "pools": 1, "rule": "last_ended", **asked}.items():
            rows = rows[rows[name] == value]
        return rows.sort_values("seed")


def compute(
    plan: str, *, samples: str, published: str, pools: str, devices: str, margin: float | None, seed: int | None
) -> Results:
    """Runs the captured workloads on simulated pools, and compares throughput over layouts, depths and numbers of pools.

    `samples` is the folder of the captures, and `published` has the published table. `margin` is a ratio less 1, and `seed` is
    the first seed of what the devices draw. If one of them is None, it is the plan's. Raises TickdiskError if a file cannot be
    read.
    """
    config = read_plan(Path(plan)).config
    design = config.chosen.design(POOLS)
    workloads = {phase: _workload(Path(samples) / f"tpcc_{phase}.biosnoop.zst") for phase in ("p1", "p2")}
    described, models = load_pools(Path(pools)), device.load_devices(Path(devices))
    first = config.seed if seed is None else seed
    found, densities = [], {}
    for phase, workload in workloads.items():
        for number in range(design.runs):
            own = _seeded(models, first + number)
            cases = [(MAIN, Settings(queue_depth=depth)) for depth in sorted({*design.queue_depths, SMALL, LARGE})]
            cases += [(MAIN, Settings(pools=count, queue_depth=SMALL)) for count in design.pools if count > 1]
            cases += [(name, Settings(queue_depth=LARGE)) for name in described if name != MAIN]
            cases.append((MAIN, Settings(queue_depth=LARGE, rule="highest")))
            for name, settings in cases:
                outcome = simulate([workload], described[name], own, settings)
                found.append({"workload": phase, "pool": name, "seed": number, **_values(outcome, settings)})
                if number == 0 and (name, settings) == (MAIN, Settings(queue_depth=LARGE)):
                    densities[phase] = density(outcome.runs[0].waited_ns)
    rules = decide_by(config.decision, design.runs, margin)
    return Results(
        workloads,
        pd.DataFrame(found),
        densities,
        described,
        sorted({*design.queue_depths, SMALL, LARGE}),
        rules,
        read_section(Published, Path(published), "shape"),
        load_findings(published),
    )


def _workload(path: Path) -> Workload:
    requests, _ = formats.read([path])
    return workload_of(requests, path.name)


def _seeded(devices: Mapping[str, device.DeviceModel], seed: int) -> dict[str, device.DeviceModel]:
    """Returns the devices with another seed. Seeds of runs lie far apart."""
    return {name: model.model_copy(update={"seed": 1_000_000 * seed}) for name, model in devices.items()}


def _values(outcome: PoolsOutcome, settings: Settings) -> dict[str, object]:
    waited, response = (np.concatenate([getattr(run, name) for run in outcome.runs]) for name in ("waited_ns", "response_ns"))
    requested = sum(run.bytes for run in outcome.runs)
    return {
        "pools": settings.pools,
        "queue_depth": settings.queue_depth,
        "rule": settings.rule,
        "mb_per_s": outcome.mb_per_s,
        "elapsed_s": outcome.elapsed_s,
        **{
            f"{name}_p{q}_us": np.quantile(ns, q / 100) / 1e3
            for name, ns in (("wait", waited), ("response", response))
            for q in (50, 99)
        },
        **{name: outcome.total(name) for name in ("reads", "prewrites", "postwrites", "splits", "moved")},
        "requests": sum(len(run.done_ns) for run in outcome.runs),
        "holds_identity": all(run.holds_identity for run in outcome.runs),
        **{f"device_{op}": size / requested for op, size in outcome.device_bytes.items()},
    }
