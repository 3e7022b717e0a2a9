"""Contrasts of the join burst, computed once from the run folders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tickdisk import stats
from tickdisk.report import contrasts
from tickdisk.report.runs import LifeTables, Runs
from tickdisk.report.switchback import ALWAYS, METRICS

JOIN = "join_mean_ms"


@dataclass(frozen=True)
class Results:
    """The results of the join burst; a block takes the place of a life, as its arms are compared with each other."""

    contrasts: contrasts.Contrasts
    lives: Sequence[LifeTables]
    bounds: Mapping[str, stats.Bounds]
    """For each metric the latencies (ms) up to which it is good and from which it suffers."""

    @property
    def doses(self) -> list[str]:
        """Returns the arms with a latency of their own, from the least."""
        return contrasts.dose_arms(self.contrasts, "treatment")

    @property
    def joins(self) -> pd.DataFrame:
        """The joins of all lives, a row each."""
        return pd.concat([life.actions[life.actions["action"] == "join"] for life in self.lives])


def compute(plan: str, *, runs: str, tick_metric: str, margin: float | None, seed: int | None) -> Results:
    """Computes the results; see `study` for the parameters."""
    data = Runs(plan, runs, "join_burst")
    lives = list(data.lives())
    found = contrasts.compute(
        "join_burst",
        data,
        # A join that takes longer than the stay would reach into the leaves.
        contrasts.epoch_rows(lives, tau_ns=round(data.scale.join_burst.stay_s * 1e9)),
        {
            JOIN: "mean join time of a burst",
            ALWAYS: f"{METRICS[ALWAYS]} of a join burst",
            tick_metric: f"{METRICS.get(tick_metric, tick_metric).removesuffix(' of an epoch')} of a join burst",
        },
        actions={JOIN},
        planned=data.scale.join_burst.blocks,
        asked=data.asked.join_burst.blocks,
        margin=margin,
        seed=seed,
    )
    return Results(found, lives, contrasts.dose_bounds(found, contrasts.dose_arms(found, "treatment")))
