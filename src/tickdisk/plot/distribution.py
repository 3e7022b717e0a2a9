"""Figures of distributions with their tails: tick gaps of each arm, and how late the requests of a replay were."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.foundation.errors import TickdiskError
from tickdisk.plot.theme import MUTED, NOTEBOOK, Theme, checked, colour, finish, log_axis, row
from tickdisk.stats import ecdf

_POINTS, _LATE_POINTS = 300, 200
LEAST_US = 1.0
"""Left end of the logarithmic axes of lateness. Smaller values are drawn there."""


def tails(parts: Mapping[str, NDArray[np.float64]], *, budget_ms: float) -> Any:
    """Draws the distribution of tick gaps in each arm, and its tail on two logarithmic axes.

    `parts` has gaps in ms by arm. An arm without a gap is not drawn, and TickdiskError is raised if no arm has one. The share of
    gaps up to x is on the left, and the share above x on the right. Both are thinned to 300 points, with both tails kept. The
    right panel ends before the longest gap, whose share above is 0.
    """
    filled = {arm: np.asarray(values, dtype=float) for arm, values in parts.items() if len(values)}
    if not filled:
        raise TickdiskError("figure tails: no arm has a value; check that the run's ticks lie in its epochs")
    table = _distributions(filled, "arm", "ms", _POINTS)
    x = alt.X("ms:Q", title="Tick gap (ms)", **log_axis(table["ms"], budget_ms, pad=1.05))
    share = alt.Scale(domain=[0, 1])
    up_to = alt.Y("share:Q", title="Share of gaps up to x", scale=share, axis=alt.Axis(format="%"))
    tail, above = _tail(table, "Share longer than x (log)", filled.values())
    budget = row(ms=budget_ms).mark_rule(style="limit").encode(x)
    panels = [
        alt.layer(budget, alt.Chart(rows).mark_line(interpolate="step-after").encode(x, y, colour(list(parts))))
        for rows, y in ((table, up_to), (tail, above))
    ]
    shown = alt.hconcat(*(panel.properties(width=310, height=270) for panel in panels), spacing=24)
    note = f"Cumulative share (left) and tail (right); dashed: step of {budget_ms:g} ms"
    return finish(shown, "Distribution of tick gaps", f"{note}; {counted([each.size for each in filled.values()])} per arm")


def lateness_tails(
    parts: Mapping[str, Mapping[str, NDArray[np.float64]]], *, limit_us: float | None, theme: Theme = NOTEBOOK
) -> Any:
    """Draws the share of requests that are later than x, on two logarithmic axes.

    `parts` has the lateness of requests in us by quantity, such as the lag, and within each quantity by replay. A lateness of
    `limit_us` is still acceptable, and is drawn dashed.
    """
    order = list(dict.fromkeys(name for lines in parts.values() for name in lines))
    all_values = [values for lines in parts.values() for values in lines.values()]
    limits = [] if limit_us is None else [limit_us]
    drawn = {}
    for quantity, lines in parts.items():
        table = _distributions(
            {name: np.maximum(values, LEAST_US) for name, values in lines.items()}, "replay", "us", _LATE_POINTS
        )
        drawn[quantity], y = _tail(table, "Share later than x (log)", all_values)
    axis = log_axis(pd.concat([table["us"] for table in drawn.values()]), *limits, pad=1.1, form="~s")
    panels = []
    for quantity, table in drawn.items():
        x = alt.X("us:Q", title=f"{quantity} (µs, log)", **axis)
        tone = colour(order, "replay")
        tail = alt.Chart(checked(table, ["replay", "us", "above"], "lateness")).mark_line(interpolate="step-after")
        dashed = [row(us=limit).mark_rule(style="limit", color=MUTED).encode(x) for limit in limits]
        panels.append(alt.layer(*dashed, tail.encode(x, y, tone)))
    size = {"width": theme.panel_width(len(parts), 36 * len(parts), of_page=False), "height": 100 * theme.height}
    shown = alt.hconcat(*(panel.properties(**size) for panel in panels))
    dashed_words = "".join(f"; dashed: {limit:,g} µs" for limit in limits)
    sizes = counted([values.size for values in all_values])
    note = f"{sizes} requests a line{dashed_words}; less than {LEAST_US:g} µs is drawn there"
    return finish(shown, "How late requests were issued", note, theme=theme)


def counted(sizes: Sequence[int]) -> str:
    """Returns the range of some numbers of observations in words."""
    return f"n = {min(sizes):,}" + (f" to {max(sizes):,}" if max(sizes) > min(sizes) else "")


def _distributions(parts: Mapping[str, NDArray[np.float64]], name: str, unit: str, points: int) -> pd.DataFrame:
    """Returns the share of values up to, and above, each of some `points` of every part, with both tails kept."""
    frames = []
    for part, values in parts.items():
        at, share = ecdf(values, points)
        frames.append(pd.DataFrame({name: part, unit: at, "share": share, "above": 1 - share}))
    return pd.concat(frames, ignore_index=True)


def _tail(table: pd.DataFrame, title: str, parts: Iterable[NDArray[np.float64]]) -> tuple[pd.DataFrame, alt.Y]:
    """Returns the points at which one value or more of the longest part is above, and the logarithmic axis of that share."""
    lowest = 0.8 / max(values.size for values in parts)
    shares = [10.0**exponent for exponent in range(-6, 1) if 10.0**exponent >= lowest]
    scale = alt.Scale(type="log", domain=[lowest, 1], nice=False)
    return table[table["above"] > lowest / 2], alt.Y(
        "above:Q", title=title, scale=scale, axis=alt.Axis(values=shares, format="~%")
    )
