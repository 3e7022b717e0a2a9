"""Figure of the loads of several servers: sizes of their requests, and bytes over time."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.load_time import op_colour
from tickdisk.plot.paper.place import PAGE, finish, panel_title
from tickdisk.plot.theme import checked, size_axis

_LABELS, _SPACING = 40, 14
_HEIGHTS = (82, 56)
_STEPS = 60


def loads(parts: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]) -> Any:
    """Draws the sizes of reads and writes of each load, and the bytes per second below, at the width of the page.

    `parts` has two tables for each load: sizes (op, bytes, and share of the requests of this op up to this size), and rates (op,
    at_s and mb_per_s). Rates are drawn as means of 60 stretches of time.
    """
    sizes = pd.concat([checked(table, ["op", "bytes", "share"], "sizes") for table, _ in parts.values()])
    scale, axis = size_axis(sizes["bytes"], pad=1.1)
    width = (PAGE - (_LABELS + _SPACING) * len(parts)) / len(parts)
    columns: list[Any] = []
    for name, (size, rate) in parts.items():
        columns.append(
            alt.vconcat(
                _sizes(size, name, scale, axis, is_first=not columns).properties(width=width, height=_HEIGHTS[0]),
                _rates(rate, is_first=not columns).properties(width=width, height=_HEIGHTS[1]),
                spacing=8,
            )
        )
    return finish(alt.hconcat(*columns, spacing=_SPACING), legend_columns=2)


def _sizes(table: pd.DataFrame, name: str, scale: alt.Scale, axis: alt.Axis, *, is_first: bool) -> Any:
    rows = checked(table, ["op", "bytes", "share"], "sizes").astype({"op": str})
    rows = rows.assign(bytes=rows["bytes"].clip(lower=1))
    return (
        alt.Chart(rows, title=panel_title(name))
        .mark_line(interpolate="step-after", strokeWidth=1.1)
        .encode(
            alt.X("bytes:Q", scale=scale, axis=axis, title="Size"),
            alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=4),
                title="Requests up to x" if is_first else None,
            ),
            op_colour(rows),
        )
    )


def _rates(table: pd.DataFrame, *, is_first: bool) -> Any:
    rows = checked(table, ["op", "at_s", "mb_per_s"], "rates").astype({"op": str})
    end_s = float(rows["at_s"].max())
    step = (rows["at_s"] / end_s * _STEPS).astype(int).clip(upper=_STEPS - 1)
    means = rows.groupby(["op", step])[["at_s", "mb_per_s"]].mean().reset_index(level="op")
    return (
        alt.Chart(means)
        .mark_line(interpolate="step", strokeWidth=0.9)
        .encode(
            alt.X("at_s:Q", title="Time (s)", axis=alt.Axis(tickCount=5), scale=alt.Scale(domain=[0, end_s], nice=False)),
            alt.Y("mb_per_s:Q", title="MB/s" if is_first else None, axis=alt.Axis(tickCount=3)),
            op_colour(means),
        )
    )
