"""Contrasts, doses, slopes and order effects of the switchback, computed once from the run folders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.report import contrasts
from tickdisk.report.runs import LifeTables, Runs

METRICS = {
    "gap_p50_ms": "median tick gap",
    "gap_p95_ms": "95th percentile of the tick gap",
    "gap_mean_ms": "mean tick gap",
    "gap_max_ms": "longest tick gap of an epoch",
}
ALWAYS = "gap_mean_ms"
"""Estimable in every epoch, however few ticks a stalled server makes: the controls of the smallest scale rest on it."""
_CURVE_POINTS = 60


@dataclass(frozen=True)
class Results:
    """The results of the switchback."""

    contrasts: contrasts.Contrasts
    lives: Sequence[LifeTables]
    tick_metric: str
    action: str
    tau_s: float
    """The latency that an action counts with that failed, timed out, or took longer."""
    bounds: Mapping[str, stats.Bounds]
    """For each metric the doses (ms) up to which it is good and from which one it suffers."""
    slopes: Mapping[str, stats.Slope | None]
    orders: Mapping[str, stats.OrderEffect]
    """For each metric the effects of the epoch before and of the place in the life."""
    reads_per_action: stats.Mean
    """The device's reads for each action of the kind, over lives."""

    @property
    def action_metric(self) -> str:
        """The mean latency of the action."""
        return f"{self.action}_mean_ms"

    @property
    def doses(self) -> list[str]:
        """The arms with a latency of their own, from the least."""
        return contrasts.dose_arms(self.contrasts, "dose")


def compute(plan: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Results:
    """Computes the results; see `study` for the parameters."""
    data = Runs(plan, runs, "switchback")
    lives = list(data.lives())
    # An action that takes longer than the cut after a switch would reach into the next epoch.
    tau_s, action_metric = data.scale.switchback.save_period_s, f"{action}_mean_ms"
    found = contrasts.compute(
        "switchback",
        data,
        contrasts.epoch_rows(lives, tau_ns=round(tau_s * 1e9)),
        {
            ALWAYS: METRICS[ALWAYS],
            tick_metric: METRICS.get(tick_metric, tick_metric),
            action_metric: f"mean {action} latency",
        },
        actions={action_metric},
        planned=data.scale.switchback.lives,
        asked=data.asked.switchback.lives,
        margin=margin,
        seed=seed,
    )
    return Results(
        contrasts=found,
        lives=lives,
        tick_metric=tick_metric,
        action=action,
        tau_s=tau_s,
        bounds=contrasts.dose_bounds(found, contrasts.dose_arms(found, "dose")),
        slopes={metric: _slope(found, metric) for metric in found.metrics},
        orders={metric: _order(found, metric) for metric in found.metrics},
        reads_per_action=stats.over_lives([_reads_per_action(life, action) for life in lives], found.plan.alpha),
    )


def dose_rows(found: contrasts.Contrasts, metric: str) -> pd.DataFrame:
    """Returns the epochs of both baselines and of the doses, with the realised latency of each."""
    arms = [found.baseline, found.roles.null, *contrasts.dose_arms(found, "dose")]
    rows = found.table[found.table["arm"].isin(arms)].dropna(subset=[metric])
    return rows.assign(latency_ms=rows["arm"].map(found.data.dose_ms))


def _reads_per_action(life: LifeTables, action: str) -> float:
    """Returns the reads that reached the device in the steady parts of a life's epochs, over the actions due in them."""
    starts, ends = life.epochs["steady_ns"].to_numpy(), life.epochs["end_ns"].to_numpy()
    requests, actions = life.device(), life.actions
    counts = []
    for moments in (requests.loc[requests["op"] == "read", "arrival_ns"], actions.loc[actions["action"] == action, "due_ns"]):
        ordered = np.sort(moments.to_numpy())
        counts.append(int((np.searchsorted(ordered, ends) - np.searchsorted(ordered, starts)).sum()))
    return counts[0] / counts[1] if counts[1] else float("nan")


def _slope(found: contrasts.Contrasts, metric: str) -> stats.Slope | None:
    """Fits the baselines and doses of each life without the arm that is slower by construction."""
    rows = dose_rows(found, metric)
    chosen = rows[rows["arm"] != found.roles.positive[metric]]
    at_ms = np.geomspace(rows["latency_ms"].min(), rows["latency_ms"].max(), _CURVE_POINTS)
    return stats.slope(chosen["latency_ms"], chosen[metric], chosen["life"], at_ms=at_ms, alpha=found.plan.alpha)


def _order(found: contrasts.Contrasts, metric: str) -> stats.OrderEffect:
    table, latencies = found.table, {arm.arm: found.data.latency_ms(arm.arm) for arm in found.data.arms}
    values = np.log(table[metric].where(table[metric] > 0))
    before = table["previous_arm"].map(latencies)
    return stats.order_effect(values, table["arm"], table["life"], table["position"], before, alpha=found.plan.alpha)
