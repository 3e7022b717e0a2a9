"""One row an epoch, and log ratios paired within cycles or blocks."""

from dataclasses import asdict

import numpy as np
import pandas as pd

from tickdisk.errors import TickdiskError
from tickdisk.qos.actions import action_metrics
from tickdisk.qos.ticks import tick_metrics

_IDENTITY = ("epoch", "cycle", "arm", "device", "start_ns", "steady_ns", "end_ns")


def epoch_table(
    ticks: pd.DataFrame,
    actions: pd.DataFrame,
    epochs: pd.DataFrame,
    *,
    life: str | int,
    budget_ns: int,
    timeout_ns: int | None = None,
) -> pd.DataFrame:
    """Returns one row an epoch with its metrics in the steady part, [steady_ns, end_ns).

    Columns: life, the epochs table's own, position (place in the cycle by time, from 0), previous_arm (None for a life's first),
    the fields of TickMetrics (n as gap_n), and for every action in the table those of ActionMetrics as `<action>_<field>`. What
    cannot be estimated is NaN.
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
            "position": int((ordered["cycle"][:index] == epoch["cycle"]).sum()),
            "previous_arm": ordered["arm"][index - 1] if index else None,
            "gap_n": measured.pop("n"),
            **measured,
        }
        for kind in kinds:
            found = asdict(action_metrics(actions, start, end, kind, timeout_ns))
            row |= {f"{kind}_{name}": value for name, value in found.items()}
        rows.append(row)
    table = pd.DataFrame(rows)
    metrics = [name for name in table.columns if name.endswith(("_ms", "_share", "_ratio")) or name == "tps"]
    # A copy, because the conversion leaves one memory block a column, which pandas warns of at every later change.
    return table.astype(dict.fromkeys(metrics, "float64")).copy()


def paired_log_ratios(table: pd.DataFrame, metric: str, *, arm: str, baseline: str) -> pd.DataFrame:
    """Returns life, cycle and log_ratio = log(arm / baseline) of a metric, one row a cycle that has both, both above 0.

    A cycle in which one of them is not estimable has no row: compare the number of rows with the number of cycles.
    """
    if metric not in table.columns:
        raise TickdiskError(f"there is no metric {metric}; the table has {', '.join(table.columns)}")
    chosen = table[table["arm"].isin((arm, baseline))]
    values = chosen.pivot_table(index=["life", "cycle"], columns="arm", values=metric, sort=True)
    if not {arm, baseline} <= set(values.columns):
        return pd.DataFrame({"life": [], "cycle": [], "log_ratio": np.empty(0)})
    values = values[(values[arm] > 0) & (values[baseline] > 0)]
    return pd.DataFrame({"log_ratio": np.log(values[arm] / values[baseline])}).reset_index()[["life", "cycle", "log_ratio"]]
