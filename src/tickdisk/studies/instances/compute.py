"""Computes what a slow disk costs the longest tick gap of servers that share it, by the number of servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.experiment import INSTANCES, Instances
from tickdisk.studies.conditions import Arms, Conditions, analyse
from tickdisk.studies.published import load_findings
from tickdisk.studies.runs import LifeTables, Runs, all_servers

GAP = "gap_max_ms"
"""The metric: the longest tick gap of an epoch in ms, as the geometric mean over the servers of a life."""


def condition_of(instances: int) -> str:
    """Returns the name of a number of servers, in facts and claims."""
    return f"instances_{instances}"


@dataclass(frozen=True)
class SharedDisk:
    """The lives of one server, and what they say about several of them on one disk."""

    found: Conditions
    """The effects by number of servers. Beside `GAP`, its epochs have fairness (the shortest of the servers' gaps over the
    longest), queue (requests on the device when another arrives, mean) and requests_per_s."""
    levels: Mapping[str, stats.Contrast]
    """For each disk, the gap with the most servers over that with one server on it. Servers that wait for each other's processor
    time make it longer on every disk."""
    throttled: Mapping[int, float]
    """Share of the time for which the first server waited for its share of the processor, by the number of servers."""

    @property
    def design(self) -> Instances:
        """The sizes of the experiment on the server."""
        return self.found.data.design(INSTANCES)

    @property
    def numbers(self) -> list[int]:
        """The numbers of servers that were planned, from small to large."""
        return sorted(self.design.instances)


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[SharedDisk]
    published: stats.Finding
    """The published finding about several servers on one hard disk."""


def compute(plan: str, *, runs: str, published: str, margin: float | None) -> Results:
    """Analyses what a slow disk costs servers that share it.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders, and `published` that of the file with the
    published findings. `margin` is a ratio less 1, or None for the plan's. Raises TickdiskError if no cell of the experiment has
    run.
    """
    servers = [_server(data, margin) for data in all_servers(Path(plan), Path(runs), INSTANCES.name)]
    return Results(servers, load_findings(published)["instances.carried"])


def _server(data: Runs, margin: float | None) -> SharedDisk:
    design = data.design(INSTANCES)
    names = [condition_of(number) for number in sorted(design.instances)]
    epochs = pd.DataFrame([row for life in data.lives for row in _rows(life, design.tau_ns)])
    found = analyse(data, epochs, names, Arms.of(data, {GAP: "ticks"}), blocks=data.asked(INSTANCES).blocks, margin=margin)
    levels = {arm: found.between(GAP, arm, names[-1]) for arm in (found.arms.baseline, *found.slow)}
    return SharedDisk(found, levels, _throttled(data))


def _rows(life: LifeTables, tau_ns: int) -> list[dict[str, object]]:
    """Returns a row of the epochs of `SharedDisk.found` for each epoch of a life."""
    of_servers = [server.epoch_rows(tau_ns) for server in life.instances]
    device = life.device()
    arrivals = device["arrival_ns"]
    rows: list[dict[str, object]] = []
    for place, epoch in enumerate(life.epochs.sort_values("start_ns").to_dict("records")):
        gaps_ms = np.array([float(own.iloc[place][GAP]) for own in of_servers])
        inside = device[(arrivals >= epoch["steady_ns"]) & (arrivals < epoch["end_ns"])]
        rows.append(
            {
                "block": life.block,
                "life": life.name,
                "condition": condition_of(life.planned.instances or 1),
                "arm": epoch["arm"],
                GAP: float(np.exp(np.log(gaps_ms).mean())),
                "fairness": float(gaps_ms.min() / gaps_ms.max()),
                "queue": float(inside["inflight"].mean()) if len(inside) else np.nan,
                "requests_per_s": len(inside) / ((epoch["end_ns"] - epoch["steady_ns"]) / 1e9),
            }
        )
    return rows


def _throttled(data: Runs) -> dict[int, float]:
    """Returns the share of the time of play for which the first server was throttled, by the number of servers, as a mean.

    Lives of the positive control, whose thread is kept busy on purpose, do not count.
    """
    shares: dict[int, list[float]] = {}
    control = data.positive_for("ticks")
    for life in data.lives:
        if life.name != control and (quota := life.manifest.quota) is not None:
            shares.setdefault(life.planned.instances or 1, []).append(quota.throttled_ns / 1e9 / quota.seconds)
    return {number: float(np.mean(own)) for number, own in sorted(shares.items())}
