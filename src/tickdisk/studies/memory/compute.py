"""Computes what a slow disk costs ticks and teleports, by the state of the server's memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tickdisk.experiment import MEMORY, Memory
from tickdisk.studies.conditions import Arms, Conditions, analyse
from tickdisk.studies.runs import LifeTables, Runs, all_servers

METRICS = {"gap_max_ms": ("ticks", "the longest tick gap"), "teleport_mean_ms": ("actions", "the mean latency of teleports")}
"""The metrics, each with the kind of its positive control, and with words in the middle of a sentence."""


@dataclass(frozen=True)
class ServerMemory:
    """The lives of one server, and what they say about its memory."""

    found: Conditions
    """The effects by state of memory. Beside the metrics, its epochs have reads_per_s (of the device)."""
    states: pd.DataFrame
    """One row per life: block, condition, refaults (pages per second of play), cached_mib (at the end of play), hot_mib (when the
    limit began) and limit_mib (at the end).

    The last two are NaN without a limit.
    """

    @property
    def limits_met(self) -> list[bool]:
        """For each block, whether every life with a limit read pages again more often than every life without one."""
        limited = self.states["limit_mib"].notna()
        met = []
        for _, own in self.states.assign(is_limited=limited).groupby("block"):
            rates = own["refaults"].astype(float)
            met.append(bool(rates[own["is_limited"]].min() > rates[~own["is_limited"]].max()))
        return met

    @property
    def design(self) -> Memory:
        """The sizes of the experiment on the server."""
        return self.found.data.design(MEMORY)


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[ServerMemory]


def compute(plan: str, *, runs: str, margin: float | None) -> Results:
    """Analyses what a slow disk costs in each state of memory.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders. `margin` is a ratio less 1, or None for the
    plan's. Raises TickdiskError if no cell of the experiment has run.
    """
    return Results([_server(data, margin) for data in all_servers(Path(plan), Path(runs), MEMORY.name)])


def _server(data: Runs, margin: float | None) -> ServerMemory:
    design = data.design(MEMORY)
    epochs = pd.concat([_rows(life, design.tau_ns) for life in data.lives], ignore_index=True)
    kinds = {metric: kind for metric, (kind, _) in METRICS.items()}
    found = analyse(data, epochs, design.states, Arms.of(data, kinds), blocks=data.asked(MEMORY).blocks, margin=margin)
    control = data.positive_for("ticks")
    states = [_state(life) for life in data.lives if life.name != control]
    return ServerMemory(found, pd.DataFrame(states))


def _rows(life: LifeTables, tau_ns: int) -> pd.DataFrame:
    """Returns the rows of the epochs of `ServerMemory.found` for a life."""
    epochs, device = life.epoch_rows(tau_ns), life.device()
    reads = device.loc[device["op"] == "read", "arrival_ns"]
    spans = list(zip(epochs["steady_ns"], epochs["end_ns"], strict=True))
    per_s = [int(((reads >= start) & (reads < end)).sum()) / ((end - start) / 1e9) for start, end in spans]
    own = epochs.rename(columns={"life": "block"})[["block", "arm", *METRICS]]
    return own.assign(life=life.name, condition=life.planned.memory, reads_per_s=per_s)


def _state(life: LifeTables) -> dict[str, object]:
    quota = life.manifest.quota
    return {
        "block": life.block,
        "condition": life.planned.memory,
        "refaults": None if quota is None else quota.refaults / quota.seconds,
        "cached_mib": None if quota is None else quota.cached_bytes / 2**20,
        "hot_mib": None if quota is None or quota.hot_bytes is None else quota.hot_bytes / 2**20,
        "limit_mib": None if quota is None or quota.memory_bytes is None else quota.memory_bytes / 2**20,
    }
