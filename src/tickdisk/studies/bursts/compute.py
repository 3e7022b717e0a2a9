"""Computes what a slow disk costs ticks and joins, by the rate of a burst of joins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.experiment import BURSTS, REGIONS_PER_JOIN, Bursts
from tickdisk.server import named
from tickdisk.studies.conditions import Arms, Conditions, analyse
from tickdisk.studies.published import load_findings
from tickdisk.studies.runs import LifeTables, Runs, all_servers

JOIN = "join_mean_ms"
METRICS = {"gap_max_ms": "the longest tick gap", JOIN: "the mean join time"}
"""The metrics, with words in the middle of a sentence. A delay of ticks is the positive control of both."""


def condition_of(regions_per_s: int) -> str:
    """Returns the name of a rate, in facts and claims."""
    return f"regions_{regions_per_s}"


@dataclass(frozen=True)
class ServerBursts:
    """The lives of one server, and what they say about bursts of joins."""

    found: Conditions
    """The effects by rate. Beside the metrics, its epochs have reads (of the device, by join), reached (regions per second in
    which players really began to join), and served (the same until their terrain was there; NaN if a join did not end)."""

    @property
    def design(self) -> Bursts:
        """The sizes of the experiment on the server."""
        return self.found.data.design(BURSTS)

    @property
    def has_regions(self) -> bool:
        """Whether the server stores regions in files of their own, on whose corners players join."""
        return named(self.found.data.server).region_chunks is not None

    @property
    def rates(self) -> list[int]:
        """The planned rates in regions per second, from small to large."""
        return sorted(self.design.regions_per_s)


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[ServerBursts]
    published: Mapping[str, stats.Finding]
    """Published findings by name."""


def compute(plan: str, *, runs: str, published: str, margin: float | None) -> Results:
    """Analyses what a slow disk costs in a burst of joins.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders, and `published` that of the file with the
    published findings. `margin` is a ratio less 1, or None for the plan's. Raises TickdiskError if no cell of the experiment has
    run.
    """
    servers = [_server(data, margin) for data in all_servers(Path(plan), Path(runs), BURSTS.name)]
    return Results(servers, load_findings(published))


def _server(data: Runs, margin: float | None) -> ServerBursts:
    design = data.design(BURSTS)
    names = [condition_of(rate) for rate in sorted(design.regions_per_s)]
    epochs = pd.concat([_rows(life, design) for life in data.lives], ignore_index=True)
    arms = Arms.of(data, dict.fromkeys(METRICS, "ticks"))
    return ServerBursts(analyse(data, epochs, names, arms, blocks=data.asked(BURSTS).blocks, margin=margin))


def _rows(life: LifeTables, design: Bursts) -> pd.DataFrame:
    """Returns the rows of the epochs of `ServerBursts.found` for a life."""
    reads = life.device().query("op == 'read'")["arrival_ns"]
    joins = life.actions[(life.actions["action"] == "join") & life.actions["issued_ns"].notna()]
    rates = {design.burst_s(rate): rate for rate in design.regions_per_s}
    rows: list[dict[str, object]] = []
    for epoch in life.epoch_rows(design.tau_ns).to_dict("records"):
        start_ns, end_ns = epoch["steady_ns"], epoch["end_ns"]
        own = joins[joins["issued_ns"].between(start_ns, end_ns, inclusive="left")]
        planned = life.planned.epochs[int(epoch["epoch"])]
        rows.append(
            {
                "block": life.block,
                "life": life.name,
                "arm": epoch["arm"],
                "condition": condition_of(rates[planned.burst_s or 0.0]),
                **{metric: epoch[metric] for metric in METRICS},
                "reads": int(((reads >= start_ns) & (reads < end_ns)).sum()) / max(len(own), 1),
                "reached": _regions_per_s(own["issued_ns"], own["issued_ns"]),
                "served": _regions_per_s(own["issued_ns"], own["completed_ns"].where(own["outcome"] == "completed")),
            }
        )
    return pd.DataFrame(rows)


def _regions_per_s(begins_ns: "pd.Series[int]", ends_ns: "pd.Series[int]") -> float:
    """Returns the regions of all joins but the first over the time from the first begin to the last end, or NaN without one."""
    if len(begins_ns) < 2 or ends_ns.isna().any():  # noqa: PLR2004 - a rate needs two
        return np.nan
    return (len(begins_ns) - 1) * REGIONS_PER_JOIN / ((int(ends_ns.max()) - int(begins_ns.min())) / 1e9)
