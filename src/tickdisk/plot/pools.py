"""Figure of storage pools: throughput over the queue depth, and by pool."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import PAPER, checked, colour_and_shape, finish, log_axis

_HEIGHT, _LEFT = 96, 78
_WORKLOADS = {"p1": "load of the database (p1)", "p2": "transactions (p2)"}


def pool_throughput(curve: pd.DataFrame, pools: pd.DataFrame) -> Any:
    """Draws the throughput of captured workloads on simulated pools for the paper, over the queue depth and by pool.

    `curve` has the columns workload (`p1` or `p2`), depth (queue depth), mb_per_s, low and high (ends of its interval, which may
    be NaN). `pools` has pool, workload, mb_per_s, low and high.
    """
    tone, shape = colour_and_shape(list(_WORKLOADS.values()), "phase")
    lines = checked(curve, ["workload", "depth", "mb_per_s", "low", "high"], "pools over depth")
    lines["phase"] = lines["workload"].map(_WORKLOADS)
    depths, axis = sorted(set(lines["depth"])), log_axis(lines["mb_per_s"], pad=1.2)
    x = alt.X("depth:Q", scale=alt.Scale(type="log", base=2), axis=alt.Axis(values=depths[::2], format="d"), title="Queue depth")
    base = alt.Chart(lines).encode(x, tone)
    intervals = base.mark_rule(strokeWidth=0.8).encode(alt.Y("low:Q", title="MB/s", **axis), y2="high:Q")
    means = base.mark_line(strokeWidth=1, point={"size": 12}).encode(alt.Y("mb_per_s:Q", title="MB/s", **axis))
    table = checked(pools, ["pool", "workload", "mb_per_s", "low", "high"], "pools")
    table["phase"] = table["workload"].map(_WORKLOADS)
    right = (
        alt.Chart(table)
        .mark_point(opacity=0.7)
        .encode(
            alt.X("mb_per_s:Q", title="MB/s", **log_axis(table["mb_per_s"], pad=1.2)),
            alt.Y("pool:N", sort=list(dict.fromkeys(table["pool"])), title=None),
            tone,
            shape,
        )
    )
    left = (intervals + means).properties(width=_LEFT, height=_HEIGHT, title="One tiered pool")
    right = right.properties(width=PAPER.column - _LEFT - 92, height=_HEIGHT, title="Depth 32")
    return finish(alt.hconcat(left, right, spacing=10), theme=PAPER, legend_columns=2)
