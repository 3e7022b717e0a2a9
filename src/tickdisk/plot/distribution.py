"""Figure of the distribution of a quantity in each arm, with its tail."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.foundation.errors import TickdiskError
from tickdisk.plot.theme import INK, colour, finish, log_scale, title
from tickdisk.stats import ecdf

_POINTS = 300


def tails(
    parts: Mapping[str, NDArray[np.float64]],
    *,
    budget_ms: float,
    quantity: str = "Tick gap",
    heading: str = "Distribution of tick gaps",
) -> Any:
    """Draws the distribution of a quantity, such as the tick gap, in each arm, and its tail on two logarithmic axes.

    `parts` has values in ms by arm. An arm without a value is not drawn, and TickdiskError is raised if no arm has one. The share
    of values up to x is on the left, and the share above x on the right. Both are thinned to 300 points, with both tails kept.
    The right panel ends before the longest value, whose share above is 0.
    """
    filled = {arm: np.asarray(values, dtype=float) for arm, values in parts.items() if len(values)}
    if not filled:
        raise TickdiskError(f"figure {quantity}: no arm has a value; check that the run's ticks lie in its epochs")
    frames = []
    for arm, values in filled.items():
        at, share = ecdf(values, _POINTS)
        frames.append(pd.DataFrame({"arm": arm, "ms": at, "share": share, "above": 1 - share}))
    table = pd.concat(frames, ignore_index=True)
    x_scale, x_ticks = log_scale(table["ms"], budget_ms, pad=1.05)
    x = alt.X("ms:Q", scale=x_scale, title=f"{quantity} (ms)", axis=alt.Axis(values=x_ticks, format=",~r"))
    tone = colour(list(parts))
    budget = alt.Chart(pd.DataFrame({"ms": [budget_ms]})).mark_rule(color=INK, strokeDash=[4, 3]).encode(x)
    left = (
        alt.Chart(table)
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            x,
            alt.Y(
                "share:Q",
                title="Share of gaps up to x" if quantity == "Tick gap" else "Share up to x",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%"),
            ),
            color=tone,
        )
    )
    lowest = 0.8 / max(values.size for values in filled.values())
    y_scale = alt.Scale(type="log", domain=[lowest, 1], nice=False)
    shares = [10.0**exponent for exponent in range(-6, 1) if 10.0**exponent >= lowest]
    right = (
        alt.Chart(table[table["above"] > lowest / 2])
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            x,
            alt.Y("above:Q", title="Share longer than x (log)", scale=y_scale, axis=alt.Axis(values=shares, format="~%")),
            color=tone,
        )
    )
    sizes = [values.size for values in filled.values()]
    n = f"n = {min(sizes):,}" + (f" to {max(sizes):,}" if max(sizes) > min(sizes) else "") + " per arm"
    panels = [alt.layer(budget, panel).properties(width=310, height=270) for panel in (left, right)]
    return finish(
        alt.hconcat(*panels, spacing=24).properties(
            title=title(heading, [f"Cumulative share (left) and tail (right); dashed: step of {budget_ms:g} ms; {n}"])
        )
    )
