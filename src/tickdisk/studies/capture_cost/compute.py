"""Computes the results of the capture cost from its run folders and from the table of the micro-workload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.experiment import CAPTURE_COST
from tickdisk.foundation import table
from tickdisk.studies import contrasts
from tickdisk.studies.runs import LifeTables, Runs
from tickdisk.studies.switchback import ALWAYS, METRICS

BUSY = "busy_ms"
"""Metric that is the CPU time in ms of the tick thread per tick."""
NO_TOOL = "none"
"""Name of the runs of the micro-workload without a tool."""
_TICK_THREAD = "tick thread"
"""Name of the server's tick thread in the table of loads."""


@dataclass(frozen=True)
class Results:
    """The results of the study of the capture cost: effects of captures on ticks, and on the time of a single system call."""

    contrasts: contrasts.Contrasts
    """Effects of each tool on the metrics of ticks, from epochs of the same server life."""
    lives: Sequence[LifeTables]
    micro: pd.DataFrame
    """One row per round and tool (or `NO_TOOL`), with the time of a pread in ns, and the captured and lost events."""
    micro_ns: Mapping[str, stats.Contrast]
    """Geometric mean over rounds of the time of a pread in ns, by tool. It is the `ratio` of a contrast to 1 ns."""
    micro_ratio: Mapping[str, stats.Contrast]
    """Ratio of the time of a pread under a tool to the time without a tool, paired within rounds, by tool."""


def compute(plan: str, *, runs: str, micro: str, margin: float | None, seed: int | None) -> Results:
    """Analyses the effects of captures on the ticks of the server, within lives, and on a micro-workload, within rounds.

    `plan`, `runs` and `micro` are the paths of plan.json, of the folder of the run folders, and of the table that `tickdisk
    micro` wrote. `margin` is a ratio less 1. If `margin` or `seed` is None, it is that of the plan. Raises TickdiskError if no
    cell of the experiment has run.
    """
    data = Runs(plan, runs, "capture_cost")
    lives = data.lives
    effects = contrasts.compute(
        "capture_cost",
        data,
        [_with_busy(life.epoch_rows(data.design(CAPTURE_COST).tau_ns), life) for life in lives],
        {BUSY: "CPU time of the tick thread per tick", ALWAYS: METRICS[ALWAYS]},
        actions=(),
        planned=data.design(CAPTURE_COST).lives,
        asked=data.asked(CAPTURE_COST).lives,
        margin=margin,
        seed=seed,
    )
    rounds = table.read("micro", Path(micro))
    wide = rounds.pivot_table(index="round", columns="tool", values="ns_per_pread")

    def contrast(values: "pd.Series[float]") -> stats.Contrast:
        return stats.contrast(np.log(values.to_numpy(float)), margin=effects.margin, alpha=effects.plan.alpha)

    return Results(
        contrasts=effects,
        lives=lives,
        micro=rounds,
        micro_ns={str(tool): contrast(wide[tool]) for tool in wide.columns},
        micro_ratio={str(tool): contrast(wide[tool] / wide[NO_TOOL]) for tool in wide.columns if tool != NO_TOOL},
    )


def _with_busy(rows: pd.DataFrame, life: LifeTables) -> pd.DataFrame:
    """Adds the column `BUSY`: the CPU time of the tick thread in the steady part of each epoch, per tick gap that began in it."""
    load = table.read("load", life.folder / "load.parquet")
    load = load[load["process"] == _TICK_THREAD]
    at, used = load["monotonic_ns"].to_numpy(float), load["cpu_ns"].to_numpy(float)
    cpu_ms = (np.interp(rows["end_ns"], at, used) - np.interp(rows["steady_ns"], at, used)) / 1e6
    return rows.assign(**{BUSY: cpu_ms / rows["gap_n"]})
