"""Tables with one row for each epoch of a life, and the contrasts of a life's arms with its baseline."""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import pandas as pd

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import NS_PER_MS
from tickdisk.qos.actions import action_metrics
from tickdisk.qos.ticks import tick_metrics
from tickdisk.stats import life_log_ratios

_IDENTITY = ("epoch", "arm", "device", "start_ns", "steady_ns", "end_ns")
_GAPS = ("gap_mean_ms", "gap_p50_ms", "gap_p95_ms", "gap_p99_ms", "gap_max_ms")


def epoch_table(
    ticks: pd.DataFrame,
    actions: pd.DataFrame,
    epochs: pd.DataFrame,
    *,
    life: str | int,
    budget_ns: int,
    tau_ns: int,
    ended_epoch: int | None = None,
) -> pd.DataFrame:
    """Computes the metrics of ticks and actions for each epoch of a server life, over the steady part of the epoch.

    The steady part is [steady_ns, end_ns), which leaves out the beginning of the epoch. If the server ended by itself in the
    epoch with the number `ended_epoch`, the tick gaps and latencies of that epoch get their worst values. Every `gap_*_ms` is
    then as long as the steady part, and the mean, p50 and p95 of each kind of action are tau.

    `ticks` has the columns tick (number), start_ns and end_ns. `actions` has action, due_ns, issued_ns, completed_ns and outcome.
    `epochs` has epoch, arm, device, start_ns, steady_ns and end_ns. `budget_ns` is the intended time from the start of one tick
    to the start of the next, and `tau_ns` the longest latency that an action counts with.

    The result has one row for each epoch, in order of time. Its columns are life, those of `epochs`, position (the place in the
    life, from 0), previous_arm (None for the first epoch), the fields of TickMetrics (n as gap_n), and for each kind of action
    the fields of ActionMetrics as `<action>_<field>`. A value that cannot be estimated is NaN. Raises TickdiskError if the steady
    part of an epoch does not end after it begins.
    """
    kinds = sorted(actions["action"].unique())
    ordered = epochs.sort_values("start_ns", kind="stable").reset_index(drop=True)
    rows = []
    for index, epoch in enumerate(ordered.to_dict("records")):
        start, end = int(epoch["steady_ns"]), int(epoch["end_ns"])
        if end <= start:
            raise TickdiskError(
                f"epoch {epoch['epoch']} of life {life}: its steady part ends at {end} ns, not after {start} ns; "
                "correct the epoch's length in the configuration"
            )
        measured = asdict(tick_metrics(ticks, start, end, budget_ns))
        row = {
            "life": life,
            **{name: epoch[name] for name in _IDENTITY},
            "position": index,
            "previous_arm": ordered["arm"][index - 1] if index else None,
            "gap_n": measured.pop("n"),
            **measured,
        }
        for kind in kinds:
            of_kind = asdict(action_metrics(actions, start, end, kind, tau_ns))
            row |= {f"{kind}_{name}": value for name, value in of_kind.items()}
        if ended_epoch is not None and epoch["epoch"] == ended_epoch:
            row |= dict.fromkeys(_GAPS, (end - start) / NS_PER_MS)
            row |= {f"{kind}_{name}_ms": tau_ns / NS_PER_MS for kind in kinds for name in ("mean", "p50", "p95")}
        rows.append(row)
    table = pd.DataFrame(rows)
    metrics = [name for name in table.columns if name.endswith(("_ms", "_share", "_ratio")) or name == "tps"]
    # The conversion leaves one memory block for each column, and pandas warns of that at every later change. A copy joins them.
    return table.astype(dict.fromkeys(metrics, "float64")).copy()


def requests_table(device: pd.DataFrame, epochs: pd.DataFrame, *, life: str | int) -> pd.DataFrame:
    """Counts the device's requests in each epoch of a server life, to check that they met the latency of the epoch's arm.

    A latency that no request met cannot have had an effect. `device` has the columns arrival_ns and replied_ns, and `epochs` has
    epoch, arm, start_ns and end_ns. The result has one row for each epoch with life, epoch, arm, requests (the number that
    arrived in the epoch) and latency_ms (their median replied - arrival, NaN without a request).
    """
    rows = []
    for epoch in epochs.to_dict("records"):
        requests = device[(device["arrival_ns"] >= epoch["start_ns"]) & (device["arrival_ns"] < epoch["end_ns"])]
        median_ms = float((requests["replied_ns"] - requests["arrival_ns"]).median()) / NS_PER_MS if len(requests) else np.nan
        rows.append(
            {"life": life, "epoch": epoch["epoch"], "arm": epoch["arm"], "requests": len(requests), "latency_ms": median_ms}
        )
    return pd.DataFrame(rows)


def contrasts_by_life(table: pd.DataFrame, metric: str, *, baseline: str, null: str) -> Mapping[str, "pd.Series[float]"]:
    """Computes for each arm the effect on a metric in each server life, as the log of its ratio to the baseline, indexed by life.

    The ratios are those of `stats.life_log_ratios`. The arm `null` repeats the baseline (A/A). `table` has one row for each epoch
    with the columns life, arm and the metric. A life without a ratio is left out, so a series can be shorter than the number of
    lives. The baseline has no series. Raises TickdiskError if the table has no such metric, or an arm twice in one life.
    """
    twice = table[table.duplicated(["life", "arm"])]
    if len(twice):
        life, arm = twice.iloc[0][["life", "arm"]]
        raise TickdiskError(f"life {life} has the arm {arm} in two epochs, which have one contrast; give each arm one epoch")
    if metric not in table.columns:
        raise TickdiskError(f"there is no metric {metric}; the table has {', '.join(table.columns)}")
    values = table.pivot_table(index="life", columns="arm", values=metric, sort=True)
    for arm in (baseline, null):
        if arm not in values:
            values[arm] = np.nan
    arms = list(values.columns)
    ratios = life_log_ratios(values.to_numpy(float), baseline=arms.index(baseline), null=arms.index(null))
    effects = pd.DataFrame(ratios, index=values.index, columns=arms)
    return {arm: effects[arm].dropna() for arm in arms if arm != baseline}
