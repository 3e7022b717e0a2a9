"""Computes the results of the join burst from its run folders: the contrasts and the tests of its latencies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tickdisk import stats
from tickdisk.experiment import JOIN_BURST
from tickdisk.studies import contrasts
from tickdisk.studies.published import load_findings
from tickdisk.studies.runs import LifeTables, Runs
from tickdisk.studies.switchback import ALWAYS, METRICS

JOIN = "join_mean_ms"
_LATENCIES = ("dose", "treatment")
"""Roles of the arms that have a latency of their own."""


@dataclass(frozen=True)
class Results:
    """The results of the join burst on one server. A block takes the place of a life in the contrasts."""

    contrasts: contrasts.Contrasts
    findings: Mapping[str, stats.Finding]
    """Published findings by name. It is empty if none is tested."""
    lives: Sequence[LifeTables]
    """Server lives, one for each arm of each block."""
    bounds: Mapping[str, stats.Bounds]
    """The dose up to which a metric is good and the dose from which it suffers, in ms, by metric."""

    @property
    def doses(self) -> list[str]:
        """The names of the arms with a latency of their own, from the lowest realised latency to the highest."""
        return contrasts.dose_arms(self.contrasts, *_LATENCIES)

    @property
    def joins(self) -> pd.DataFrame:
        """The joins of all players in all lives, as rows of the tables of actions."""
        return pd.concat([life.actions[life.actions["action"] == "join"] for life in self.lives])


def compute(
    plan: str,
    *,
    runs: str,
    server: str | None = None,
    published: str | None = None,
    tick_metric: str,
    margin: float | None,
    seed: int | None,
) -> Results:
    """Analyses the effects of the device on join times and on tick gaps during the burst, by comparisons within blocks.

    `tick_metric` is one of `switchback.METRICS` and is tested beside the mean gap. `margin` is a ratio less 1. If it or
    `seed` is None, it is the plan's. If `server` is None, it is the one that the configuration names. `published` is the YAML
    file of findings. Raises TickdiskError if no cell of the experiment has run.
    """
    data = Runs(plan, runs, "join_burst", server)
    lives = data.lives
    effects = contrasts.compute(
        "join_burst",
        data,
        [life.epoch_rows(data.design(JOIN_BURST).tau_ns) for life in lives],
        {
            JOIN: "mean join time of a burst",
            ALWAYS: f"{METRICS[ALWAYS]} of a join burst",
            tick_metric: f"{METRICS.get(tick_metric, tick_metric).removesuffix(' of an epoch')} of a join burst",
        },
        actions={JOIN},
        planned=data.design(JOIN_BURST).blocks,
        asked=data.asked(JOIN_BURST).blocks,
        margin=margin,
        seed=seed,
    )
    findings = {} if published is None else load_findings(published)
    return Results(effects, findings, lives, contrasts.dose_bounds(effects, contrasts.dose_arms(effects, *_LATENCIES)))
