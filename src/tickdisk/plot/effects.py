"""Figures of effects: dose-response, ratios with intervals, and the runs of each arm."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.plot.theme import BAND, INK, MUTED, PALETTE, checked, colour, finish, log_scale
from tickdisk.plot.theme import title as headed
from tickdisk.stats import Slope

VERDICT_COLOURS = {
    "different": PALETTE[0],
    "equivalent": INK,
    "inconclusive": PALETTE[4],
    "not valid": PALETTE[7],
    "": MUTED,
}
"""Colours by verdict. Neither a difference nor its absence is good or bad by itself, so neither is green or red.

A contrast that no claim rests on has the empty verdict.
"""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def dose_response(
    rows: pd.DataFrame,
    metric: str,
    fit: Slope | None,
    *,
    margin: float,
    title: str,
    level: float,
    heading: str | None = None,
) -> Any:
    """Draws a metric of each epoch over the latency of the device, with the mean of the lives' lines if there is a fit.

    The rows have the columns latency_ms (above 0) and the metric in ms, one row for each epoch. The margin of equivalence is
    drawn in grey around the median at the lowest dose. `title` names the metric, and the heading is made from it if None. `level`
    is the confidence of the slope's intervals.
    """
    points = checked(rows, ["latency_ms", metric], "dose-response").rename(columns={metric: "value"})
    lowest = float(points["latency_ms"].min())
    spread = {dose: index for index, dose in enumerate(sorted(points["latency_ms"].unique()))}
    # The dots of a dose are drawn side by side, in the order of the rows.
    place = points.groupby("latency_ms").cumcount() - (points.groupby("latency_ms")["value"].transform("size") - 1) / 2
    points["at_ms"] = points["latency_ms"] * 1.03**place
    x_scale, x_ticks = log_scale(points["at_ms"], pad=1.3)
    x_end = x_scale.to_dict()["domain"]
    baseline = float(points.loc[points["latency_ms"] == lowest, "value"].median())
    extent = [float(points["value"].min()), float(points["value"].max())]
    curve = pd.DataFrame()
    if fit is not None:
        curve = pd.DataFrame({"at_ms": fit.at_ms, "fit": fit.fitted, "low": fit.fitted_low, "high": fit.fitted_high})
        curve = curve[(curve["at_ms"] >= x_end[0]) & (curve["at_ms"] <= x_end[1])]
        extent += [float(curve["low"].min()), float(curve["high"].max())]
    band = pd.DataFrame({"low": [baseline / (1 + margin)], "high": [baseline * (1 + margin)]})
    extent += [float(band["low"].iloc[0]), float(band["high"].iloc[0])]
    wide = max(extent) / max(min(extent), 1e-9) > 8 and min(extent) > 0  # noqa: PLR2004 - about a decade
    if wide:
        y_scale, y_ticks = log_scale(pd.Series(extent))
        y_axis = alt.Axis(values=y_ticks, format=",~r")
    else:
        pad = 0.06 * (max(extent) - min(extent))
        y_scale, y_axis = alt.Scale(domain=[min(extent) - pad, max(extent) + pad], nice=False, zero=False), alt.Axis(format=",~r")
    x = alt.X("at_ms:Q", scale=x_scale, title="Device latency (ms)", axis=alt.Axis(values=x_ticks, format=",~r"))
    y_title = f"{_capital(title)} (ms)"

    def at(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", scale=y_scale, title=y_title, axis=y_axis)

    layers: list[Any] = [alt.Chart(band).mark_rect(color=BAND, opacity=0.22).encode(at("low"), y2="high:Q")]
    words = [f"n = {len(points)} epochs at {len(spread)} latencies; grey: within {margin:.0%} of the lowest dose"]
    if fit is not None:
        layers += [
            alt.Chart(curve).mark_area(color=PALETTE[0], opacity=0.2, clip=True).encode(x, at("low"), y2="high:Q"),
            alt.Chart(curve).mark_line(color=PALETTE[0], clip=True).encode(x, at("fit")),
        ]
        words.append(
            f"Line: {with_interval(fit.per_ms, fit.low, fit.high)} ms per ms of latency, the mean of {fit.lives} lives' lines, "
            f"with the {level:.0%} band over lives"
        )
    layers.append(alt.Chart(points).mark_circle(size=42, color=INK, opacity=0.65).encode(x, at("value")))
    return finish(alt.layer(*layers).properties(title=headed(heading or f"{_capital(title)} over storage latency", words)))


def forest(
    rows: pd.DataFrame, *, margin: float, baseline: str, level: float, heading: str = "Effects against the baseline"
) -> Any:
    """Draws the ratio of each arm to the baseline with its interval, and the verdict in words, in a panel for each metric.

    The columns are arm, metric, ratio, low and high (ends of its interval), n, and verdict. A ratio or an interval that is NaN is
    not drawn, but its verdict is. The margin of equivalence is shaded, and `level` is the confidence of the intervals.
    """
    table = checked(rows, ["arm", "metric", "ratio", "low", "high", "n", "verdict"], "forest")
    arms, metrics = list(dict.fromkeys(table["arm"])), list(dict.fromkeys(table["metric"]))
    drawn = table.dropna(subset=["ratio"])
    ends = pd.concat([drawn["ratio"], drawn["low"].dropna(), drawn["high"].dropna()])
    # An interval from two or three pairs can span decades, so intervals are cut at the edge of the panel.
    ends = ends.clip(lower=0.1, upper=max(20.0, float(drawn["ratio"].max()) * 2) if len(drawn) else 20.0)
    scale, ticks = log_scale(ends if len(ends) else pd.Series([0.5, 2.0]), 1 / (1 + margin), 1 + margin, pad=1.1)
    low_end, high_end = scale.to_dict()["domain"]
    if high_end / low_end < 5:  # noqa: PLR2004 - 1, 2, 5 would be too few
        ticks = [value for value in (0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 2.5, 3, 4) if low_end <= value <= high_end]
    table = table.assign(
        cut_low=table["low"].clip(lower=low_end, upper=high_end),
        cut_high=table["high"].clip(lower=low_end, upper=high_end),
        text=[
            with_interval(ratio, low, high) if pd.notna(low) else number(ratio) if pd.notna(ratio) else "not estimable"
            for ratio, low, high in zip(table["ratio"], table["low"], table["high"], strict=True)
        ],
        words=[f"{verdict}{', ' if verdict else ''}n = {n}" for verdict, n in zip(table["verdict"], table["n"], strict=True)],
    )
    tone = alt.Color(
        "verdict:N", title=None, legend=None, scale=alt.Scale(domain=list(VERDICT_COLOURS), range=list(VERDICT_COLOURS.values()))
    )
    panels = []
    for index, metric in enumerate(metrics):
        part = table[table["metric"] == metric]
        bottom = index == len(metrics) - 1
        axis = alt.Axis(values=ticks, format=",~r", labels=bottom, ticks=bottom)

        def at(column: str, axis: alt.Axis = axis, *, last: bool = bottom) -> alt.X:
            name = f"Ratio to {baseline} (log axis; above 1 is slower)" if last else None
            return alt.X(f"{column}:Q", scale=scale, title=name, axis=axis)

        y = alt.Y("arm:N", scale=alt.Scale(domain=arms), title=None, axis=alt.Axis(grid=False))
        base = alt.Chart(part)
        shade = (
            alt.Chart(pd.DataFrame({"low": [1 / (1 + margin)], "high": [1 + margin]}))
            .mark_rect(color=BAND, opacity=0.2)
            .encode(at("low"), x2="high:Q")
        )
        one = alt.Chart(pd.DataFrame({"ratio": [1]})).mark_rule(color=MUTED).encode(at("ratio"))
        lines = (
            alt.Chart(part.dropna(subset=["low"]))
            .mark_rule(strokeWidth=2.5)
            .encode(at("cut_low"), y, x2="cut_high:Q", color=tone)
        )
        dots = (
            alt.Chart(part.dropna(subset=["ratio"]))
            .mark_point(filled=True, size=90, opacity=1, shape="square", clip=True)
            .encode(at("ratio"), y, color=tone)
        )
        left = alt.layer(shade, one, lines, dots).properties(
            width=330,
            height=24 * len(arms),
            title=alt.TitleParams(_capital(metric), fontSize=12, anchor="start", offset=4, frame="bounds"),
        )
        texts = [
            base.mark_text(align="left", fontSize=11, dx=dx)
            .encode(alt.Y("arm:N", scale=alt.Scale(domain=arms), axis=None), alt.X(value=0), text=f"{field}:N", color=shade_of)
            .properties(width=260, height=24 * len(arms))
            for field, dx, shade_of in (("text", 0, alt.value(INK)), ("words", 130, alt.value(INK)))
        ]
        panels.append(alt.hconcat(left, alt.layer(*texts), spacing=10))
    return finish(
        alt.vconcat(*panels, spacing=12).properties(
            title=headed(
                heading, [f"Geometric mean ratio with {level:.0%} interval; grey: margin, 1/{1 + margin:g} to {1 + margin:g}"]
            )
        )
    )


def paired_dots(
    table: pd.DataFrame,
    metric: str,
    *,
    title: str,
    order: Sequence[str] | None = None,
    heading: str | None = None,
    unit: str = "ms",
    what: str = "runs",
    within: str = "block",
) -> Any:
    """Draws a metric of each run by arm, and joins the runs of a block by a line. A stroke marks the geometric mean of an arm.

    The columns are life (name of the block), arm, and the metric in `unit`, with one row for each run. Rows whose metric is not
    estimable are left out and counted. TickdiskError is raised if no run has an estimable, positive value. `title` names the
    metric, and the heading is made from it if None. `what` is the word for the things that a line joins, and `within` the word
    for what a line belongs to. Arms are in the given order, or in that of the rows.
    """
    rows = checked(table, ["life", "arm", metric], "paired runs").rename(columns={metric: "value"})
    points = rows.dropna(subset=["value"]).astype({"life": str})
    if points.empty or float(points["value"].min()) <= 0:
        raise TickdiskError(f"figure {title}: no run has an estimable, positive {metric}; check the actions table")
    arms = list(order) if order is not None else list(dict.fromkeys(rows["arm"]))
    wide = float(points["value"].max() / points["value"].min()) > 3  # noqa: PLR2004 - linear is easier to read below that
    if wide:
        scale, ticks = log_scale(points["value"])
        axis = alt.Axis(values=ticks, format=",~r")
    else:
        pad = 0.08 * float(points["value"].max() - points["value"].min()) or 1.0
        scale = alt.Scale(domain=[float(points["value"].min()) - pad, float(points["value"].max()) + pad], zero=False, nice=False)
        axis = alt.Axis(format=",~r")
    x = alt.X("arm:N", sort=arms, title=None, axis=alt.Axis(labelAngle=0 if len(arms) <= 5 else -25, grid=False))  # noqa: PLR2004
    y = alt.Y("value:Q", scale=scale, title=f"{_capital(title)} ({unit})", axis=axis)
    base = alt.Chart(points)
    lines = base.mark_line(color=MUTED, opacity=0.35, strokeWidth=1).encode(x, y, detail="life:N")
    dots = base.mark_circle(size=60, opacity=0.9).encode(x, y, color=colour(arms, legend=False))
    means = points.assign(value=np.log(points["value"])).groupby("arm", as_index=False)["value"].mean()
    strokes = (
        alt.Chart(means.assign(value=np.exp(means["value"])))
        .mark_tick(orient="horizontal", size=44, thickness=3, color=INK)
        .encode(x, y)
    )
    lost = len(rows) - len(points)
    count = points["life"].nunique()
    words = f"n = {count} {within}{'' if count == 1 else 's'}; lines join the {what} of a {within}; stroke: geometric mean"
    return finish(
        alt.layer(lines, dots, strokes).properties(
            width=max(320, 110 * len(arms)),
            title=headed(heading or f"{_capital(title)} by arm", [words + (f"; {lost} runs not estimable" if lost else "")]),
        )
    )
