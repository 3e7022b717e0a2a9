"""Figure of how far emulated devices are from their models, at the width of a column."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.paper.place import COLUMN, finish, panel_title
from tickdisk.plot.theme import MUTED, checked, colour

_AXES, _SPACING, _HEIGHT = 34, 10, 95
_LEAST = 0.05


def fidelity(table: pd.DataFrame, *, order: Sequence[str], titles: Mapping[str, str]) -> Any:
    """Draws how much longer quantiles of the realised latency are than the device's model says, over queue depth.

    The columns are device, depth, quantile, and off_share (realised over the model's, minus one), only of points that are held to
    the model. There is a panel for each quantile in `titles` that has a point. Points beyond the panel are drawn at its edge.
    """
    points = checked(table, ["device", "depth", "quantile", "off_share"], "fidelity")
    told = [quantile for quantile in titles if (points["quantile"] == quantile).any()]
    width = (COLUMN - _AXES * len(told) - _SPACING * (len(told) - 1)) / len(told)
    depths = sorted(points["depth"].unique().tolist())
    panels = []
    for quantile in told:
        own = points[points["quantile"] == quantile]
        most = max(_LEAST, float(own["off_share"].max()) * 1.15)
        least = min(-_LEAST / 2, float(own["off_share"].min()) * 1.15)
        x = alt.X(
            "depth:Q",
            scale=alt.Scale(type="log", base=2, domain=[depths[0] / 1.2, depths[-1] * 1.2], nice=False),
            title="Queue depth",
            axis=alt.Axis(values=depths[::2] if len(depths) > 4 else depths, format="d"),  # noqa: PLR2004
        )
        y = alt.Y(
            "off_share:Q",
            scale=alt.Scale(domain=[least, most], clamp=True, nice=False),
            title="Longer than the model" if quantile == told[0] else None,
            axis=alt.Axis(format="%", tickCount=5),
        )
        base = alt.Chart(own)
        tone = colour(order, "device")
        zero = base.mark_rule(color=MUTED, strokeDash=[3, 2], strokeWidth=0.6).encode(y=alt.YDatum(0.0))
        marks = base.mark_line(strokeWidth=1.2, point={"size": 14}).encode(x, y, color=tone)
        panels.append(alt.layer(zero, marks).properties(width=width, height=_HEIGHT, title=panel_title(titles[quantile])))
    return finish(alt.hconcat(*panels, spacing=_SPACING), legend_columns=4)
