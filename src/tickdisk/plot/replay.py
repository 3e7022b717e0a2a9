"""Figures of a replay: how late requests were issued, what made them late, and how long they took."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.plot.theme import MUTED, WIDTH, checked, colour, decades, finish, log_scale, title
from tickdisk.stats import ecdf, quantile

_POINTS, _BINS = 250, 150
_LEAST_US = 1.0
"""Left end of the logarithmic axes. Smaller values are drawn there."""


def lateness_tails(parts: Mapping[str, Mapping[str, NDArray[np.float64]]], *, limit_us: float) -> Any:
    """Draws the share of requests that are later than x, on two logarithmic axes.

    `parts` has the lateness of requests in us by quantity, such as the lag, and within each quantity by replay. A lateness of
    `limit_us` is still acceptable, and is drawn dashed.
    """
    order = list(dict.fromkeys(name for lines in parts.values() for name in lines))
    highest = max((float(values.max()) for lines in parts.values() for values in lines.values() if values.size), default=1.0)
    x_scale = alt.Scale(type="log", domain=[_LEAST_US, max(10.0, 1.2 * highest)], nice=False)
    x_axis = alt.Axis(values=decades(_LEAST_US, 1.2 * highest), format=",~s")
    sizes = [values.size for lines in parts.values() for values in lines.values()]
    lowest = 0.5 / max(sizes)
    shares = [10.0**exponent for exponent in range(-6, 1) if 10.0**exponent >= lowest]
    y = alt.Y(
        "above:Q",
        title="Share later than x (log)",
        scale=alt.Scale(type="log", domain=[lowest, 1], nice=False),
        axis=alt.Axis(values=shares, format="~%"),
    )
    panels = []
    for quantity, lines in parts.items():
        frames = []
        for name, values in lines.items():
            at, share = ecdf(np.maximum(values, _LEAST_US), _POINTS)
            frames.append(pd.DataFrame({"replay": name, "us": at, "above": 1 - share}))
        table = checked(pd.concat(frames), ["replay", "us", "above"], "lateness")
        x = alt.X("us:Q", scale=x_scale, title=f"{quantity} (µs)", axis=x_axis)
        limit = alt.Chart(pd.DataFrame({"us": [limit_us]})).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x)
        tail = alt.Chart(table[table["above"] > lowest]).mark_line(interpolate="step-after", strokeWidth=1.8)
        panels.append(
            alt.layer(limit, tail.encode(x, y, color=colour(order, "replay", "Replay"))).properties(width=310, height=270)
        )
    note = f"{_counted(sizes)} a line; dashed: {limit_us:,g} µs; less than {_LEAST_US:g} µs is drawn there"
    return finish(alt.hconcat(*panels, spacing=24).properties(title=title("How late requests were issued", [note])))


def lateness_over_time(table: pd.DataFrame, *, order: Sequence[str], quantity: str, heading: str) -> Any:
    """Draws the longest and the median lateness in each of 150 stretches of time, on a logarithmic axis.

    The table has the columns replay, at_s (due time from the start), and us, and any length. `quantity` names the lateness in the
    column us, such as the time lost.
    """
    edges = np.linspace(0, float(table["at_s"].max()) * (1 + 1e-9) or 1.0, _BINS + 1)
    stretch = np.clip(np.digitize(table["at_s"], edges) - 1, 0, _BINS - 1)
    grouped = table.assign(us=table["us"].clip(lower=_LEAST_US), stretch=stretch).groupby(["replay", "stretch"], observed=True)[
        "us"
    ]
    points = grouped.agg(["median", "max"]).reset_index().assign(at_s=lambda rows: edges[rows["stretch"]])
    points = checked(points, ["replay", "at_s", "median", "max"], quantity)
    scale, ticks = log_scale(pd.concat([points["max"], points["median"]]), 10.0)
    x = alt.X("at_s:Q", title="Due time (s)", scale=alt.Scale(domain=[0, float(edges[-1])], nice=False))
    name, tone = f"{quantity} (µs)", colour(order, "replay", "Replay")
    axis = alt.Axis(values=ticks, format=",~s")
    base = alt.Chart(points)
    layers = [
        base.mark_line(strokeWidth=1.4, opacity=0.9).encode(x, alt.Y("max:Q", scale=scale, title=name, axis=axis), color=tone),
        base.mark_circle(size=14).encode(x, alt.Y("median:Q", scale=scale, title=name, axis=axis), color=tone),
    ]
    sizes = _counted(table["replay"].value_counts().tolist())
    note = f"Line: longest of each of {_BINS} stretches of time, dots: median; {sizes} a replay"
    return finish(alt.layer(*layers).properties(width=WIDTH + 160, title=title(heading, [note])))


def service_times(parts: Mapping[str, Mapping[str, NDArray[np.float64]]], *, order: Sequence[str]) -> Any:
    """Draws the service times of each operation, as captured and as replayed, on a logarithmic axis.

    `parts` has service times in us by operation, and within each operation by where the requests were made (captured, or a
    replay), whose names are in `order`. A line goes from p5 to p95, with a dot at the median. A quantile for which a sample is
    too small is not drawn.
    """
    rows = []
    for op, lines in parts.items():
        for where, values in lines.items():
            found = {name: quantile(values, q) for name, q in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95))}
            known = {name: None if value is None else max(value.value, 0.1) for name, value in found.items()}
            rows.append({"op": f"{op} (n = {len(values):,})", "where": where, **known})
    table = checked(
        pd.DataFrame(rows).astype(dict.fromkeys(("p05", "p50", "p95"), float)), ["op", "where", "p05", "p50", "p95"], "service"
    )
    scale, ticks = log_scale(pd.concat([table[name] for name in ("p05", "p50", "p95")]).dropna())
    names = list(dict.fromkeys(table["op"]))
    y = {"y": alt.Y("op:N", sort=names, title=None), "yOffset": alt.YOffset("where:N", sort=list(order))}

    def at(column: str) -> alt.X:
        return alt.X(f"{column}:Q", scale=scale, title="Service time (µs)", axis=alt.Axis(values=ticks, format=",~s"))

    tone = colour(order, "where", "Made")
    lines = alt.Chart(table.dropna(subset=["p05", "p95"])).mark_rule(strokeWidth=2).encode(at("p05"), x2="p95:Q", color=tone, **y)
    dots = alt.Chart(table.dropna(subset=["p50"])).mark_point(filled=True, size=60, opacity=1).encode(at("p50"), color=tone, **y)
    words = "Median, p5 to p95 of each operation (where the sample reaches them)"
    return finish(
        alt.layer(lines, dots).properties(height={"step": 14}, title=title("Service times, captured and replayed", [words]))
    )


def _counted(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"n = {low:,} requests" if low == high else f"n = {low:,} to {high:,} requests"
