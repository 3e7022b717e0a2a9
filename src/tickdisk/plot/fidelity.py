"""Figure of how far the latency of emulated devices is from their models, over queue depths."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import MUTED, NOTEBOOK, Theme, checked, colour, finish

_LEAST = 0.05
_MOST_DEPTHS = 4
HELD, BEYOND, BESIDE = "held to the model", "beyond half the ceiling", "another chain"
"""States of a point. A point of our emulator is held to the model if its modelled rate is below half of the machine's ceiling
and its modelled median is above the machine's least latency, and is beyond otherwise. Another chain is another program that
emulates latency.
"""
_SHAPES = {HELD: "circle", BEYOND: "triangle-up", BESIDE: "square"}


def fidelity_over_depth(
    table: pd.DataFrame, *, order: Sequence[str], titles: Mapping[str, str], n: str = "", theme: Theme = NOTEBOOK
) -> Any:
    """Draws how much longer quantiles of latency are than the model says, over queue depth.

    The columns are device, depth, quantile, off_share (realised over the model's, minus one), and state (HELD, BEYOND or BESIDE).
    There is a panel for each quantile in `titles` that has a point, each with a scale of its own that fits the points that are
    held to the model. Points beyond the panel are drawn at its edge. `n` says in words on how many requests a point rests.
    """
    points = checked(table, ["device", "depth", "quantile", "off_share", "state"], "fidelity")
    told = [quantile for quantile in titles if (points["quantile"] == quantile).any()]
    size = {"width": theme.panel_width(len(told), 34 * len(told), of_page=False), "height": 95 * theme.height}
    panels: list[Any] = []
    for quantile in told:
        panel = _panel(points, quantile, order, theme, is_first=not panels)
        panels.append(panel.properties(**size, title=titles[quantile]))
    words = f"4 KiB random reads; beyond the frame: drawn at its edge; {n}"
    return finish(alt.hconcat(*panels), "Realised latency against the model's", words, theme=theme)


def _panel(points: pd.DataFrame, quantile: str, order: Sequence[str], theme: Theme, *, is_first: bool) -> Any:
    own, depths = points[points["quantile"] == quantile], sorted(points["depth"].unique().tolist())
    held = own.loc[own["state"] == HELD, "off_share"].dropna()
    least, most = (1.15 * float(held.min()), 1.15 * float(held.max())) if len(held) else (0.0, 0.0)
    states = [state for state in _SHAPES if (points["state"] == state).any()]
    x = alt.X(
        "depth:Q",
        scale=alt.Scale(type="log", base=2, domain=[depths[0] / 1.2, depths[-1] * 1.2], nice=False),
        title="Queue depth",
        axis=alt.Axis(values=depths[::2] if len(depths) > _MOST_DEPTHS else depths, format="d"),
    )
    y = alt.Y(
        "off_share:Q",
        scale=alt.Scale(domain=[min(-_LEAST / 2, least), max(_LEAST, most)], clamp=True, nice=False),
        title="Longer than the model" if is_first else None,
        axis=alt.Axis(format="%", tickCount=5),
    )
    shape = alt.Shape(
        "state:N",
        title=None,
        scale=alt.Scale(domain=states, range=[_SHAPES[state] for state in states]),
        legend=alt.Legend(columns=1) if len(states) > 1 else None,
    )
    base = alt.Chart(own).encode(color=colour(order, "device"))
    return alt.layer(
        alt.Chart(own).mark_rule(style="limit", color=MUTED).encode(y=alt.YDatum(0.0)),
        base.mark_line(opacity=0.7).encode(x, y),
        base.mark_point(size=theme.area(14)).encode(x, y, shape),
    )
