"""Figure of how far the latency of emulated devices is from their models, over queue depths."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import MUTED, checked, colour, finish, title

_HEIGHT, _WIDTH = 180, 230
_LEAST = 0.1
HELD, BEYOND, BESIDE = "held to the model", "beyond half the ceiling", "another chain"
"""States of a point. A point of our emulator is held to the model if its modelled rate is below half of the machine's ceiling
and its modelled median is above the machine's least latency, and is beyond otherwise. Another chain is another program that
emulates latency.
"""
_QUANTILES = ("median", "p99", "p99.9")
_SHAPES = {HELD: "circle", BEYOND: "triangle-up", BESIDE: "square"}


def fidelity(table: pd.DataFrame, *, order: Sequence[str], n: str) -> Any:
    """Draws how much longer the median, p99 and p99.9 of latency are than the model says, over queue depth.

    The columns are device, depth, quantile (`median`, `p99` or `p99.9`), off_share (realised over the model's, minus one), and
    state (HELD, BEYOND or BESIDE). There is a panel for each quantile that has a point, each with a scale of its own. Points
    beyond the panel are drawn at its edge. `n` says in words on how many requests a point rests.
    """
    points = checked(table, ["device", "depth", "quantile", "off_share", "state"], "fidelity")
    depths = sorted(points["depth"].unique().tolist())
    told = [quantile for quantile in _QUANTILES if (points["quantile"] == quantile).any()]
    panels = [_panel(points, quantile, order, depths, is_first=quantile == told[0]) for quantile in told]
    return finish(
        alt.hconcat(*panels, spacing=12).properties(
            title=title("Realised latency against the model's", [f"4 KiB random reads; beyond the frame: drawn at its edge; {n}"])
        )
    )


def _panel(points: pd.DataFrame, quantile: str, order: Sequence[str], depths: Sequence[int], *, is_first: bool) -> Any:
    own = points[points["quantile"] == quantile]
    shown = own.loc[own["state"] == HELD, "off_share"]
    states = [state for state in _SHAPES if (points["state"] == state).any()]
    most = max(_LEAST, float(shown.max() or 0) * 1.3)
    least = min(-_LEAST / 4, float(shown.min() or 0) * 1.3)
    x = alt.X(
        "depth:Q",
        scale=alt.Scale(type="log", base=2, domain=[depths[0] / 1.2, depths[-1] * 1.2], nice=False),
        title="Queue depth (requests in flight)",
        axis=alt.Axis(values=depths, format="d"),
    )
    y = alt.Y(
        "off_share:Q",
        scale=alt.Scale(domain=[least, most], clamp=True, nice=False),
        title="Realised longer than the model (%)" if is_first else None,
        axis=alt.Axis(format="%"),
    )
    base = alt.Chart(own)
    zero = base.mark_rule(color=MUTED, strokeDash=[4, 3]).encode(y=alt.YDatum(0.0))
    lines = base.mark_line(opacity=0.7).encode(x, y, color=colour(order, "device"))
    dots = base.mark_point(size=50, filled=True, opacity=1).encode(
        x,
        y,
        color=colour(order, "device"),
        shape=alt.Shape(
            "state:N",
            title=None,
            scale=alt.Scale(domain=states, range=[_SHAPES[state] for state in states]),
            legend=alt.Legend(columns=1),
        ),
    )
    return alt.layer(zero, lines, dots).properties(width=_WIDTH, height=_HEIGHT, title=quantile)
