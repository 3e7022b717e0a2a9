"""Figures of methods of saving a game: their costs in simulation, and the time that they add to real ticks."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.paper.place import COLUMN, PAGE, finish, panel_title
from tickdisk.plot.theme import INK, MUTED, PALETTE, checked, colour, log_scale

_AXES, _SPACING, _HEIGHT = 32, 10, 105
_LABELS, _ROW = 96, 11
_LEAST_MS = 1e-3
"""Left end of the logarithmic axis in ms. Smaller values are drawn there."""


def costs(table: pd.DataFrame, *, quantities: Mapping[str, str], order: Sequence[str]) -> Any:
    """Draws costs of algorithms over the update rate, on logarithmic axes, at the width of the page.

    The table has the columns algorithm, rate, and those in `quantities`, which gives the title of the panel for each.
    """
    rows = checked(table, ["algorithm", "rate", *quantities], "costs")
    width = (PAGE - _AXES * len(quantities) - _SPACING * (len(quantities) - 1)) / len(quantities)
    x_scale, _ = log_scale(rows["rate"], pad=1.05)
    panels = []
    for column, title in quantities.items():
        scale, ticks = log_scale(rows[column])
        x = alt.X(
            "rate:Q",
            title="Updates per tick (log)",
            scale=x_scale,
            axis=alt.Axis(values=sorted(set(rows["rate"]))[::2], format="~s"),
        )
        y = alt.Y(f"{column}:Q", title=None, scale=scale, axis=alt.Axis(values=ticks, format="~g"))
        marks = alt.Chart(rows).mark_line(strokeWidth=1.2, point={"size": 14}).encode(x, y, color=colour(order, "algorithm"))
        panels.append(marks.properties(width=width, height=_HEIGHT, title=panel_title(title)))
    return finish(alt.hconcat(*panels, spacing=_SPACING), legend_columns=3)


def methods(table: pd.DataFrame, *, limit_ms: float) -> Any:
    """Draws the mean and the longest time that each method of saving a game adds to a tick, at the width of a column.

    The columns are algorithm, added_ms (mean), and longest_ms. `limit_ms` is the longest acceptable time, drawn dashed. Methods
    that add the least come first.
    """
    rows = checked(table, ["algorithm", "added_ms", "longest_ms"], "methods").sort_values("added_ms")
    rows = rows.assign(**{name: rows[name].clip(lower=_LEAST_MS) for name in ("added_ms", "longest_ms")})
    scale, ticks = log_scale(pd.concat([rows["added_ms"], rows["longest_ms"]]), limit_ms)
    y = alt.Y("algorithm:N", title=None, sort=rows["algorithm"].tolist(), axis=alt.Axis(grid=False, labelLimit=_LABELS + 30))
    base = alt.Chart(rows)

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", title="Added to a tick (ms, log)", scale=scale, axis=alt.Axis(values=ticks, format="~g"))

    layers = [
        base.mark_rule(color=MUTED, strokeWidth=0.8).encode(x("added_ms"), y, x2="longest_ms"),
        base.mark_point(filled=True, size=24, opacity=1, color=PALETTE[0]).encode(x("added_ms"), y),
        base.mark_tick(thickness=1.6, size=8, color=PALETTE[1]).encode(x("longest_ms"), y),
        alt.Chart(pd.DataFrame({"added_ms": [limit_ms]}))
        .mark_rule(color=INK, strokeDash=[3, 2], strokeWidth=0.7)
        .encode(x("added_ms")),
    ]
    return finish(alt.layer(*layers).properties(width=COLUMN - _LABELS, height=_ROW * len(rows)))
