"""Figures of effects: ratios with intervals, by arm or over the latency, and the runs of each arm."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.plot.theme import (
    INK,
    MUTED,
    NOTEBOOK,
    PALETTE,
    PAPER,
    Theme,
    capital,
    checked,
    colour,
    colour_and_shape,
    finish,
    log_axis,
    row,
    spread_axis,
)

_VERDICTS = {
    "different": PALETTE[0],
    "equivalent": INK,
    "inconclusive": PALETTE[4],
    "cannot tell": PALETTE[3],
    "not valid": PALETTE[7],
    "": MUTED,
}
"""Colours by verdict. Neither a difference nor its absence is good or bad by itself, so neither is green or red.

A contrast that no claim rests on has the empty verdict.
"""
_WIDEST = 30.0
"""Factor beyond all ratios at which intervals of arms are cut. An interval from a few lives can span decades."""
_APART = 1.06
"""Factor between the latencies at which the points of two metrics are drawn, so that their intervals can be told apart."""
_TICKS = ((2.0, (0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4)), (4.0, None), (8.0, (0.1, 0.2, 0.5, 1, 2, 5, 10)))
"""Ticks of an axis of ratios, by the factor between its ends. Other axes have the ticks of all logarithmic axes."""


def forest(rows: pd.DataFrame, *, margin: float, baseline: str, level: float, theme: Theme = NOTEBOOK) -> Any:
    """Draws the ratio of each arm to the baseline with its interval, coloured by the verdict, in a panel for each metric.

    The columns are arm, metric, ratio, low and high (ends of its interval), n, and verdict. A ratio or an interval that is NaN is
    not drawn. The margin of equivalence is shaded, and `level` is the confidence of the intervals. In a notebook, the panels have
    one axis and stand upon each other, with the numbers and the verdicts in words. In the paper, they stand side by side.
    """
    table = checked(rows, ["arm", "metric", "ratio", "low", "high", "n", "verdict"], "forest")
    arms, metrics = list(dict.fromkeys(table["arm"])), list(dict.fromkeys(table["metric"]))
    size = {"height": 13 * theme.scale * len(arms)}
    panels: list[Any] = []
    for metric in metrics:
        own, is_last = table[table["metric"] == metric], metric == metrics[-1]
        if theme is PAPER:
            panel = _arms(own, arms, ratio_axis(own, margin, _WIDEST), margin, baseline, has_names=not panels)
            panels.append(panel.properties(**size, width=theme.panel_width(len(metrics), 118), title=capital(metric)))
        else:
            panel = _arms(own, arms, ratio_axis(table, margin, _WIDEST), margin, baseline, has_ticks=is_last)
            panel = panel.properties(**size, width=330, title=capital(metric))
            panels.append(alt.hconcat(panel, _in_words(own, arms).properties(**size, width=260), spacing=10))
    note = f"Geometric mean ratio with {level:.0%} interval; above 1 is slower; grey: margin, 1/{1 + margin:g} to {1 + margin:g}"
    shown = alt.hconcat(*panels) if theme is PAPER else alt.vconcat(*panels)
    return finish(shown, "Effects against the baseline", note, theme=theme)


def _arms(
    own: pd.DataFrame,
    arms: Sequence[str],
    axis: dict[str, Any],
    margin: float,
    baseline: str,
    *,
    has_names: bool = True,
    has_ticks: bool = True,
) -> Any:
    """Draws the ratios of the arms on one metric. Their names, or the ticks of the axis, may stand at another panel."""
    low, high = axis["scale"]["domain"]
    own = own.assign(cut_low=own["low"].clip(low, high), cut_high=own["high"].clip(low, high))
    ticks = axis["axis"] if has_ticks else alt.Axis(values=axis["axis"]["values"], labels=False, ticks=False)

    def at(column: str) -> alt.X:
        title = f"Ratio to {baseline} (log)" if has_ticks else None
        return alt.X(f"{column}:Q", scale=axis["scale"], axis=ticks, title=title)

    names = alt.Axis(grid=False, labels=has_names, ticks=has_names)
    scale = alt.Scale(domain=list(_VERDICTS), range=list(_VERDICTS.values()))
    base = alt.Chart(own).encode(
        alt.Y("arm:N", scale=alt.Scale(domain=list(arms)), title=None, axis=names),
        alt.Color("verdict:N", legend=None, scale=scale),
    )
    return alt.layer(
        row(low=1 / (1 + margin), high=1 + margin).mark_rect(style="margin").encode(at("low"), x2="high:Q"),
        row(ratio=1).mark_rule(style="one").encode(at("ratio")),
        base.transform_filter("isValid(datum.low)").mark_rule().encode(at("cut_low"), x2="cut_high:Q"),
        base.mark_point(clip=True).encode(at("ratio")),
    )


def _in_words(own: pd.DataFrame, arms: Sequence[str]) -> Any:
    """Writes the ratios with their intervals, and the verdicts, in a line for each arm."""
    own = own.assign(
        text=[
            with_interval(ratio, low, high) if pd.notna(low) else number(ratio) if pd.notna(ratio) else "not estimable"
            for ratio, low, high in zip(own["ratio"], own["low"], own["high"], strict=True)
        ],
        words=[f"{verdict}{', ' if verdict else ''}n = {n}" for verdict, n in zip(own["verdict"], own["n"], strict=True)],
    )
    base = alt.Chart(own).encode(alt.Y("arm:N", scale=alt.Scale(domain=list(arms)), axis=None), alt.X(value=0))
    columns = (("text", 0), ("words", 130))
    return alt.layer(*(base.mark_text(align="left", dx=place).encode(text=f"{column}:N") for column, place in columns))


def ratio_axis(rows: pd.DataFrame, margin: float, widest: float) -> dict[str, Any]:
    """Returns the logarithmic axis of ratios, the margin, and intervals, which are cut at a factor `widest` beyond the ratios."""
    ratios = rows["ratio"].dropna()
    least, most = (float(ratios.min()), float(ratios.max())) if len(ratios) else (1.0, 1.0)
    ends = pd.concat([ratios, rows["low"], rows["high"]]).clip(min(least, 1 / most) / widest, max(most, 1 / least) * widest)
    axis = log_axis(ends, 1 / (1 + margin), 1 + margin, pad=1.1)
    low, high = axis["scale"]["domain"]
    ticks = next((ticks for span, ticks in _TICKS if high / low < span), None)
    if ticks is not None:
        axis["axis"] = alt.Axis(values=[tick for tick in ticks if low <= tick <= high], format=",~r")
    return axis


def server_effects(rows: pd.DataFrame, *, margin: float) -> Any:
    """Draws the ratio of each metric to the baseline over the latency for the paper, with a panel for each server.

    The columns are server, metric (at most four), latency_ms, ratio, low and high (ends of its interval). NaN is not drawn. The
    margin of equivalence is shaded.
    """
    table = checked(rows, ["server", "metric", "latency_ms", "ratio", "low", "high"], "effects of servers").dropna(
        subset=["ratio"]
    )
    servers, metrics = list(dict.fromkeys(table["server"])), list(dict.fromkeys(table["metric"]))
    place = table["metric"].map(metrics.index) - (len(metrics) - 1) / 2
    table["at_ms"] = table["latency_ms"] * _APART**place
    axis = ratio_axis(table, margin, 2)
    low, high = axis["scale"]["domain"]
    table = table.assign(low=table["low"].clip(low, high), high=table["high"].clip(low, high))
    x = alt.X("at_ms:Q", title="Realised latency (ms, log)", **log_axis(table["at_ms"], pad=1.25))
    band = row(low=1 / (1 + margin), high=1 + margin).mark_rect(style="margin")
    panels: list[Any] = []
    for server in servers:
        title = None if panels else "Ratio to the baseline (log)"
        ticks = alt.Axis(values=axis["axis"]["values"], format=",~r", labels=not panels, ticks=not panels)
        low_y, y = (alt.Y(f"{column}:Q", scale=axis["scale"], axis=ticks, title=title) for column in ("low", "ratio"))
        tone, shape = colour_and_shape(metrics, "metric")
        base = alt.Chart(table[table["server"] == server]).encode(x, tone)
        layers = [
            band.encode(low_y, y2="high:Q"),
            row(ratio=1).mark_rule(style="one").encode(y),
            base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.2).encode(low_y, y2="high:Q"),
            base.mark_line(strokeWidth=0.8, opacity=0.6).encode(y),
            base.mark_point().encode(y, shape),
        ]
        width = PAPER.panel_width(len(servers), 44)
        panels.append(alt.layer(*layers).properties(width=width, height=120, title=server))
    return finish(alt.hconcat(*panels), theme=PAPER)


def dots_by_arm(
    table: pd.DataFrame,
    metric: str,
    *,
    title: str,
    words: Mapping[str, str],
    unit: str = "ms",
    within: tuple[str, str] = ("block", "blocks"),
    theme: Theme = NOTEBOOK,
) -> Any:
    """Draws a metric of each run by arm as a dot. A stroke marks the geometric mean of an arm.

    The columns are life (name of the block), arm, and the metric in `unit`, with one row for each run. Rows whose metric is not
    estimable are left out and counted. TickdiskError is raised if no run has an estimable, positive value. `title` names the
    metric, `words` has the label of each arm, in the order of the figure, and `within` has the words for one and for several of
    the things that `life` names.
    """
    rows = checked(table, ["life", "arm", metric], "runs by arm").rename(columns={metric: "value"})
    points = rows.dropna(subset=["value"]).astype({"life": str})
    if points.empty or float(points["value"].min()) <= 0:
        raise TickdiskError(f"figure {title}: no run has an estimable, positive {metric}; check the actions table")
    points = points.assign(label=points["arm"].map(words))
    labels, count, lost = list(words.values()), points["life"].nunique(), len(rows) - len(points)
    y = alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(grid=False, labelLimit=theme.scale * 120))
    axis = spread_axis(points["value"].tolist(), 3)
    unit += ", log" if axis["scale"].to_dict().get("type") == "log" else ""
    x = alt.X("value:Q", title=f"{capital(title)} ({unit})", **axis)
    dots = alt.Chart(points).mark_circle(size=theme.area(18), opacity=0.6).encode(x, y, color=colour(labels, legend=False))
    means = points.assign(value=np.log(points["value"])).groupby("label", as_index=False)["value"].mean()
    means["value"] = np.exp(means["value"])
    strokes = alt.Chart(means).mark_tick(size=theme.scale * 9, thickness=theme.scale * 1.6, color=INK).encode(x, y)
    note = f"n = {count} {within[count != 1]}; stroke: geometric mean"
    note += f"; {lost} runs not estimable" if lost else ""
    size = {"width": theme.panel_width(1, 70, of_page=False), "height": theme.scale * 13 * len(labels)}
    return finish(alt.layer(dots, strokes).properties(**size), f"{capital(title)} by arm", note, theme=theme)
