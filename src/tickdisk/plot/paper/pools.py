"""Figure of storage pools: throughput over the queue depth, and by layout."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.paper.place import COLUMN, finish, panel_title
from tickdisk.plot.theme import PALETTE, checked, log_scale

_HEIGHT = 96
_PHASES = {"p1": PALETTE[0], "p2": PALETTE[1]}
_WORDS = {"p1": "load of the database (p1)", "p2": "transactions (p2)"}


def _colour() -> alt.Color:
    scale = alt.Scale(domain=list(_WORDS.values()), range=list(_PHASES.values()))
    return alt.Color("phase:N", scale=scale, title=None)


def pools(curve: pd.DataFrame, bars: pd.DataFrame) -> Any:
    """Draws the throughput of captured workloads on simulated pools, over the queue depth and by pool, at the width of a column.

    `curve` has the columns workload (`p1` or `p2`), depth (queue depth), mb_per_s, low and high (ends of its interval, which may
    be NaN). `bars` has pool, workload, mb_per_s, low and high.
    """
    lines = checked(curve, ["workload", "depth", "mb_per_s", "low", "high"], "pools over depth")
    lines = lines.assign(phase=lines["workload"].map(_WORDS))
    scale, ticks = log_scale(lines["mb_per_s"], pad=1.2)
    depths = sorted(set(lines["depth"]))
    x = alt.X("depth:Q", scale=alt.Scale(type="log", base=2), axis=alt.Axis(values=depths[::2], format="d"), title="Queue depth")
    y = alt.Y("mb_per_s:Q", scale=scale, axis=alt.Axis(values=ticks, format=",~r"), title="MB/s")
    base = alt.Chart(lines)
    left = (
        base.mark_rule(strokeWidth=0.8).encode(x, alt.Y("low:Q", scale=scale), alt.Y2("high:Q"), _colour())
        + base.mark_line(strokeWidth=1, point=alt.OverlayMarkDef(size=12)).encode(x, y, _colour())
    ).properties(width=78, height=_HEIGHT, title=panel_title("One tiered pool"))
    table = checked(bars, ["pool", "workload", "mb_per_s", "low", "high"], "pools")
    table = table.assign(phase=table["workload"].map(_WORDS))
    order = list(dict.fromkeys(table["pool"]))
    own, own_ticks = log_scale(table["mb_per_s"], pad=1.2)
    right = (
        alt.Chart(table)
        .mark_point(filled=True, size=26)
        .encode(
            alt.X("mb_per_s:Q", scale=own, axis=alt.Axis(values=own_ticks, format=",~r"), title="MB/s"),
            alt.Y("pool:N", sort=order, title=None),
            _colour(),
            shape=alt.Shape("phase:N", scale=alt.Scale(domain=list(_WORDS.values()), range=["circle", "square"]), title=None),
        )
        .properties(width=COLUMN - 78 - 92, height=_HEIGHT, title=panel_title("Depth 32"))
    )
    return finish(alt.hconcat(left, right, spacing=10), legend_columns=2)
