"""Distributions by arm: tails of tick gaps, shift functions, spread of an action's latency."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.errors import TickdiskError
from tickdisk.plot.theme import INK, checked, colour, finish, log_scale, title
from tickdisk.stats import ecdf, quantile

_POINTS = 300
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def tails(
    parts: Mapping[str, NDArray[np.float64]],
    *,
    budget_ms: float,
    quantity: str = "Tick gap",
    heading: str = "Distribution of tick gaps",
) -> Any:
    """Returns the ECDF (left) and the CCDF on two log axes (right) of each arm's values in ms, with budget.

    Arms keep the mapping's order; the functions are thinned to 300 points that keep both tails. The CCDF ends before the
    longest value, whose share above is 0.
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


def latency_spread(
    parts: Mapping[str, Sequence[float] | NDArray[np.float64]], *, action: str, order: Sequence[str] | None = None, note: str = ""
) -> Any:
    """Returns the latency in ms of one action by arm: line p5 to p95, bar p25 to p75, stroke at the median, log axis.

    A quantile that an arm's sample does not reach is not drawn. `note` goes into the subtitle, such as the number timed out.
    """
    rows = []
    for arm, values in parts.items():
        found = [quantile(values, q) for q in _QUANTILES]
        rows.append(
            {
                "arm": arm,
                "label": f"{arm} (n = {len(values):,})",
                **{
                    f"p{round(100 * q):02d}": None if value is None else value.value
                    for q, value in zip(_QUANTILES, found, strict=True)
                },
            }
        )
    table = pd.DataFrame(rows).astype({f"p{round(100 * q):02d}": "float64" for q in _QUANTILES})
    table = checked(table, list(table.columns), "latency spread")
    arms = list(order) if order is not None else list(parts)
    labels = [str(table.loc[table["arm"] == arm, "label"].iloc[0]) for arm in arms]
    columns = [f"p{round(100 * q):02d}" for q in _QUANTILES]
    shown = table.melt(value_vars=columns)["value"].dropna()
    if shown.empty or float(shown.min()) <= 0:
        raise TickdiskError(f"figure {action} latency: no arm has an estimable, positive latency; check the actions table")
    scale, ticks = log_scale(shown)
    tone = colour(arms, legend=False)
    rows_y = alt.Y("label:N", sort=labels, title=None)

    def at(column: str) -> alt.X:
        return alt.X(
            f"{column}:Q",
            scale=scale,
            title=f"{action.capitalize()} latency, due to completed (ms)",
            axis=alt.Axis(values=ticks, format=",~r"),
        )

    def whole(*columns: str) -> alt.Chart:
        return alt.Chart(table.dropna(subset=list(columns)))

    lines = whole("p05", "p95").mark_rule(strokeWidth=2).encode(at("p05"), rows_y, x2="p95:Q", color=tone)
    bars = whole("p25", "p75").mark_bar(height=12, opacity=0.55).encode(at("p25"), rows_y, x2="p75:Q", color=tone)
    medians = whole("p50").mark_tick(orient="vertical", size=20, thickness=3, color=INK).encode(at("p50"), rows_y)
    return finish(
        alt.layer(lines, bars, medians).properties(
            height={"step": 34},
            title=title(
                f"{action.capitalize()} latency by arm",
                [f"Median, middle half, p5 to p95 (where the sample reaches them){note and '; ' + note}"],
            ),
        )
    )
