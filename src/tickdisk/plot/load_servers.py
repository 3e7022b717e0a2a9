"""Figure of the loads of several servers: sizes of their requests, and bytes over time."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.load_space import size_curves
from tickdisk.plot.theme import PAPER, checked, finish, operation_colour, size_axis

_HEIGHTS = (82, 56)
_STEPS = 60


def loads_of_servers(parts: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]) -> Any:
    """Draws for the paper the sizes of reads and writes of each load, and the bytes per second below.

    `parts` has two tables for each load: sizes (op, bytes, and share of the requests of this op up to this size), and rates (op,
    at_s and mb_per_s). Rates are drawn as means of 60 stretches of time.
    """
    axis = size_axis(pd.concat([sizes["bytes"] for sizes, _ in parts.values()]), pad=1.1)
    width = PAPER.panel_width(len(parts), 45 * len(parts))
    columns: list[Any] = []
    for name, (sizes, rates) in parts.items():
        own = checked(sizes, ["op", "bytes", "share"], "sizes")
        curves = size_curves(own, axis, "Size", None if columns else "Requests up to x")
        upper = curves.properties(width=width, height=_HEIGHTS[0], title=name)
        lower = _rates(rates, None if columns else "MB/s").properties(width=width, height=_HEIGHTS[1])
        columns.append(alt.vconcat(upper, lower, spacing=8))
    return finish(alt.hconcat(*columns), theme=PAPER, legend_columns=2)


def _rates(table: pd.DataFrame, title: str | None) -> Any:
    rows = checked(table, ["op", "at_s", "mb_per_s"], "rates").astype({"op": str})
    end_s = float(rows["at_s"].max())
    step = (rows["at_s"] / end_s * _STEPS).astype(int).clip(upper=_STEPS - 1)
    means = rows.groupby(["op", step])[["at_s", "mb_per_s"]].mean().reset_index(level="op")
    time: dict[str, Any] = {"axis": alt.Axis(tickCount=5), "scale": alt.Scale(domain=[0, end_s], nice=False)}
    x, y = alt.X("at_s:Q", title="Time (s)", **time), alt.Y("mb_per_s:Q", title=title, axis=alt.Axis(tickCount=3))
    return alt.Chart(means).mark_line(interpolate="step", strokeWidth=0.9).encode(x, y, operation_colour(means["op"]))
