"""Figure of the shares of late time, at the width of a column."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.paper.place import COLUMN, finish, panel_title
from tickdisk.plot.theme import INK, checked

_LABELS, _ROW, _MOST = 100, 11, 6
_LEAST = 0.005
"""Share below which nothing is drawn, because it cannot be told from 0."""


def shares(rows: pd.DataFrame) -> Any:
    """Draws shares of the late time, which is the time by which ticks exceed the server's step, with their intervals.

    The columns are group (what the time is divided by, such as cause), name, share, low and high (ends of its interval), with
    shares from 0 to 1. The six largest shares above half a percent of each group are drawn.
    """
    table = checked(rows, ["group", "name", "share", "low", "high"], "late shares")
    groups = list(dict.fromkeys(table["group"]))
    scale = alt.Scale(domain=[0, 1])
    panels = []
    for group in groups:
        chosen = (table["group"] == group) & ((table["high"] > _LEAST) | (table["share"] > _LEAST))
        own = table[chosen].sort_values("share", ascending=False).head(_MOST)
        names, is_last = list(own["name"]), group == groups[-1]
        x_title = "Share of the late time" if is_last else None
        axis = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1], labels=is_last, ticks=is_last)
        y_axis = alt.Axis(grid=False, labelLimit=_LABELS + 20, minExtent=_LABELS, maxExtent=_LABELS)
        base, y = alt.Chart(own), alt.Y("name:N", sort=names, title=None, axis=y_axis)
        spans = base.mark_rule(strokeWidth=1.6, color=INK).encode(
            alt.X("low:Q", scale=scale, title=x_title, axis=axis), y, x2="high:Q"
        )
        dots = base.mark_point(filled=True, size=26, opacity=1, color=INK).encode(
            alt.X("share:Q", scale=scale, title=x_title, axis=axis), y
        )
        panels.append(
            alt.layer(spans, dots).properties(
                width=COLUMN - _LABELS - 8, height=_ROW * len(names), title=panel_title(f"By {group}", frame="group")
            )
        )
    return finish(alt.vconcat(*panels, spacing=16, bounds="flush"))
