"""Computes the results of the switchback from its run folders: contrasts, doses, slopes and effects of the order of epochs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.experiment import SWITCHBACK
from tickdisk.studies import contrasts
from tickdisk.studies.published import load_findings
from tickdisk.studies.runs import LifeTables, Runs

METRICS = {
    "gap_p50_ms": "median tick gap",
    "gap_p95_ms": "95th percentile of the tick gap",
    "gap_mean_ms": "mean tick gap",
    "gap_max_ms": "longest tick gap of an epoch",
}
"""Tick metrics that a study can test, with their names in prose."""
ALWAYS = "gap_mean_ms"
"""Tick metric that every study tests, because it is estimable in every epoch, however few ticks a stalled server makes."""
_CURVE_POINTS = 60
"""Number of latencies at which the line of a dose-response is computed."""


@dataclass(frozen=True)
class Results:
    """The results of the switchback on one server: the mean tick gap, one more tick metric, and the mean latency of an action."""

    contrasts: contrasts.Contrasts
    findings: Mapping[str, stats.Finding]
    """Published findings by name. It is empty if none is tested."""
    lives: Sequence[LifeTables]
    """The server lives, in the order of the plan."""
    tick_metric: str
    action: str
    tau_s: float
    """Latency that an action counts with if it failed, timed out or took longer."""
    bounds: Mapping[str, stats.Bounds]
    """The dose up to which a metric is good and the dose from which it suffers, in ms, by metric."""
    slopes: Mapping[str, stats.Slope | None]
    """Rise of a metric per ms of the device's latency, by metric. None if fewer than two lives have a slope."""
    orders: Mapping[str, stats.OrderEffect]
    """Effects of the epoch before and of the place in the life on a metric, by metric."""
    reads_per_action: stats.Mean
    """Number of reads that reach the device, per action of the tested kind, as the mean over lives."""

    @property
    def action_metric(self) -> str:
        """The metric that is the mean latency of the action, such as "teleport_mean_ms"."""
        return f"{self.action}_mean_ms"

    @property
    def doses(self) -> list[str]:
        """The names of the dose arms, from the lowest realised latency to the highest."""
        return contrasts.dose_arms(self.contrasts, "dose")


def compute(
    plan: str,
    *,
    runs: str,
    server: str | None = None,
    published: str | None = None,
    tick_metric: str,
    action: str,
    margin: float | None,
    seed: int | None,
) -> Results:
    """Analyses the effects of storage latency on tick gaps and on one kind of action, by comparisons within server lives.

    `tick_metric` is one of `METRICS` and is tested beside the mean gap. `action` is the kind of action whose mean latency is
    tested, such as "teleport". `margin` is a ratio less 1. If it or `seed` is None, it is the plan's. If `server` is None, it
    is the one that the configuration names. `published` is the YAML file of findings. Raises TickdiskError if no cell of the
    experiment has run.
    """
    data = Runs(plan, runs, "switchback", server)
    lives = data.lives
    tau_ns, action_metric = data.design(SWITCHBACK).tau_ns, f"{action}_mean_ms"
    effects = contrasts.compute(
        "switchback",
        data,
        [life.epoch_rows(tau_ns) for life in lives],
        {
            ALWAYS: METRICS[ALWAYS],
            tick_metric: METRICS.get(tick_metric, tick_metric),
            action_metric: f"mean {action} latency",
        },
        actions={action_metric},
        planned=data.design(SWITCHBACK).lives,
        asked=data.asked(SWITCHBACK).lives,
        margin=margin,
        seed=seed,
    )
    return Results(
        contrasts=effects,
        findings={} if published is None else load_findings(published),
        lives=lives,
        tick_metric=tick_metric,
        action=action,
        tau_s=tau_ns / 1e9,
        bounds=contrasts.dose_bounds(effects, contrasts.dose_arms(effects, "dose")),
        slopes={metric: _slope(effects, metric) for metric in effects.metrics},
        orders={metric: _order(effects, metric) for metric in effects.metrics},
        reads_per_action=stats.over_lives([_reads_per_action(life, action) for life in lives], effects.plan.alpha),
    )


def dose_rows(effects: contrasts.Contrasts, metric: str) -> pd.DataFrame:
    """Returns the epochs of the baseline, the null control and the doses in which a metric is estimable.

    `latency_ms` has the latency that the arm's device realised.
    """
    arms = [effects.baseline, effects.roles.null, *contrasts.dose_arms(effects, "dose")]
    rows = effects.table[effects.table["arm"].isin(arms)].dropna(subset=[metric])
    return rows.assign(latency_ms=rows["arm"].map(effects.data.dose_ms))


def _reads_per_action(life: LifeTables, action: str) -> float:
    """Returns the reads in the steady parts of a life's epochs, per action due in them. NaN if no such action was due."""
    starts, ends = life.epochs["steady_ns"].to_numpy(), life.epochs["end_ns"].to_numpy()
    requests, actions = life.device(), life.actions
    counts = []
    for moments in (requests.loc[requests["op"] == "read", "arrival_ns"], actions.loc[actions["action"] == action, "due_ns"]):
        ordered = np.sort(moments.to_numpy())
        counts.append(int((np.searchsorted(ordered, ends) - np.searchsorted(ordered, starts)).sum()))
    return counts[0] / counts[1] if counts[1] else float("nan")


def _slope(effects: contrasts.Contrasts, metric: str) -> stats.Slope | None:
    """Fits a line to the baselines and doses of each life."""
    rows = dose_rows(effects, metric)
    at_ms = np.geomspace(rows["latency_ms"].min(), rows["latency_ms"].max(), _CURVE_POINTS)
    return stats.slope(rows["latency_ms"], rows[metric], rows["life"], at_ms=at_ms, alpha=effects.plan.alpha)


def _order(effects: contrasts.Contrasts, metric: str) -> stats.OrderEffect:
    table, latencies = effects.table, {arm.arm: effects.data.latency_ms(arm.arm) for arm in effects.data.arms}
    values = np.log(table[metric].where(table[metric] > 0))
    before = table["previous_arm"].map(latencies)
    return stats.order_effect(values, table["arm"], table["life"], table["position"], before, alpha=effects.plan.alpha)
