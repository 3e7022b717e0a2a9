"""Figure of metrics over the latency that the device realised."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.foundation.numbers import with_interval
from tickdisk.plot.theme import INK, NOTEBOOK, PALETTE, Theme, capital, checked, finish, log_axis, row, spread_axis
from tickdisk.stats import Slope

_A_DECADE = 8
"""Ratio of the largest to the smallest value above which the axis is logarithmic. It is about a decade."""
_TICKS = [digit * 10.0**power for power in range(-9, 9) for digit in (1, 3)]


@dataclass(frozen=True)
class Dose:
    """A metric of epochs over the dose, and the line through its values."""

    title: str
    """Name of the metric, which is in ms."""
    rows: pd.DataFrame
    """Columns latency_ms (above 0) and value in ms, one row for each epoch."""
    fit: Slope | None
    """The slope of the metric. If None, no line is drawn."""


def dose_response(metrics: Sequence[Dose], *, margin: float, level: float, theme: Theme = NOTEBOOK) -> Any:
    """Draws metrics of each epoch over the latency of the device, with the mean of the lives' lines and its band.

    There is a panel for each metric. The margin of equivalence is drawn in grey around the median at the lowest dose. `level` is
    the confidence of the slopes' intervals.
    """
    size = {"width": theme.panel_width(len(metrics), 30 * len(metrics)), "height": 105 * theme.height}
    panels = [_panel(metric, margin, theme).properties(**size) for metric in metrics]
    notes = [note for metric in metrics for note in _notes(metric, margin, level)]
    return finish(alt.hconcat(*panels), f"{capital(metrics[0].title)} over storage latency", notes, theme=theme)


def _panel(metric: Dose, margin: float, theme: Theme) -> Any:
    points = checked(metric.rows, ["latency_ms", "value"], "dose-response")
    doses = points.groupby("latency_ms")
    place = doses.cumcount() - (doses["value"].transform("size") - 1) / 2
    points["at_ms"] = points["latency_ms"] * 1.04**place  # The dots of a dose are drawn side by side.
    axis = log_axis(points["at_ms"], pad=1.2)
    low, high = axis["scale"]["domain"]
    axis["axis"] = alt.Axis(values=[tick for tick in _TICKS if low <= tick <= high], format=",~r")
    baseline = float(points.loc[points["latency_ms"] == points["latency_ms"].min(), "value"].median())
    band = {"low": baseline / (1 + margin), "high": baseline * (1 + margin)}
    extent = [*points["value"].tolist(), *band.values()]
    curve = pd.DataFrame({"at_ms": [], "fit": [], "low": [], "high": []})
    if metric.fit is not None:
        fit = metric.fit
        curve = pd.DataFrame({"at_ms": fit.at_ms, "fit": fit.fitted, "low": fit.fitted_low, "high": fit.fitted_high})
        curve = curve[curve["at_ms"].between(low, high)]
        extent += [*curve["low"].tolist(), *curve["high"].tolist()]
    spread = spread_axis(extent, _A_DECADE)
    x = alt.X("at_ms:Q", title="Device latency (ms, log)", **axis)
    bottom, middle, dots = (alt.Y(f"{column}:Q", title=None, **spread) for column in ("low", "fit", "value"))
    layers = [row(**band).mark_rect(style="margin").encode(bottom, y2="high:Q")]
    if len(curve):
        layers += [
            alt.Chart(curve).mark_area(color=PALETTE[0], opacity=0.2, clip=True).encode(x, bottom, y2="high:Q"),
            alt.Chart(curve).mark_line(color=PALETTE[0], clip=True).encode(x, middle),
        ]
    layers.append(alt.Chart(points).mark_circle(size=theme.area(12), color=INK, opacity=0.7).encode(x, dots))
    return alt.layer(*layers).properties(title=f"{capital(metric.title)} (ms)")


def _notes(metric: Dose, margin: float, level: float) -> list[str]:
    epochs, doses = len(metric.rows), metric.rows["latency_ms"].nunique()
    notes = [f"n = {epochs} epochs at {doses} latencies; grey: within {margin:.0%} of the lowest dose"]
    if metric.fit is not None:
        slope = with_interval(metric.fit.per_ms, metric.fit.low, metric.fit.high)
        lines = f"the mean of {metric.fit.lives} lives' lines, with the {level:.0%} band over lives"
        notes.append(f"Line: {slope} ms per ms of latency, {lines}")
    return notes
