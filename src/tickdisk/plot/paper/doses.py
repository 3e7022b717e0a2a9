"""Figure of metrics over the latency that the device realised, with one panel for each metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.paper.place import PAGE, finish, panel_title
from tickdisk.plot.theme import BAND, INK, PALETTE, checked, log_scale
from tickdisk.stats import Slope

_AXES, _SPACING, _HEIGHT = 30, 12, 105
_A_DECADE = 8
"""Ratio of the largest to the smallest value above which the axis is logarithmic. It is about a decade."""


@dataclass(frozen=True)
class Metric:
    """A metric of epochs over the dose, and the line through its values."""

    title: str
    """Name of the metric with its unit."""
    rows: pd.DataFrame
    """Columns latency_ms (above 0) and value in ms, one row for each epoch."""
    fit: Slope | None
    """The slope of the metric. If None, no line is drawn."""


def doses(metrics: Sequence[Metric], *, margin: float) -> Any:
    """Draws a panel for each metric over the dose, at the width of the page, with the mean of the lives' lines and its band.

    The margin of equivalence is drawn in grey around the median at the lowest dose.
    """
    width = (PAGE - _AXES * len(metrics) - _SPACING * (len(metrics) - 1)) / len(metrics)
    return finish(alt.hconcat(*[_panel(metric, margin, width) for metric in metrics], spacing=_SPACING))


def _panel(metric: Metric, margin: float, width: float) -> Any:
    points = checked(metric.rows, ["latency_ms", "value"], "doses")
    place = points.groupby("latency_ms").cumcount() - (points.groupby("latency_ms")["value"].transform("size") - 1) / 2
    points["at_ms"] = points["latency_ms"] * 1.04**place  # The dots of a dose are drawn side by side.
    x_scale, _ = log_scale(points["at_ms"], pad=1.2)
    low, high = x_scale.to_dict()["domain"]
    lowest = points["latency_ms"].min()
    baseline = float(points.loc[points["latency_ms"] == lowest, "value"].median())
    band = pd.DataFrame({"low": [baseline / (1 + margin)], "high": [baseline * (1 + margin)]})
    extent = [float(points["value"].min()), float(points["value"].max()), *band.iloc[0].tolist()]
    curve = pd.DataFrame()
    if metric.fit is not None:
        fit = metric.fit
        curve = pd.DataFrame({"at_ms": fit.at_ms, "fit": fit.fitted, "low": fit.fitted_low, "high": fit.fitted_high})
        curve = curve[curve["at_ms"].between(low, high)]
        extent += [float(curve["low"].min()), float(curve["high"].max())]
    if min(extent) > 0 and max(extent) / min(extent) > _A_DECADE:
        y_scale, y_ticks = log_scale(pd.Series(extent))
        y_axis = alt.Axis(values=y_ticks, format=",~r")
    else:
        y_scale, y_axis = alt.Scale(domain=[min(extent), max(extent)], nice=True, zero=False), alt.Axis(format=",~r", tickCount=5)
    x = alt.X(
        "at_ms:Q", scale=x_scale, title="Device latency (ms, log)", axis=alt.Axis(values=[0.1, 0.3, 1, 3, 10], format=",~r")
    )

    def y(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", scale=y_scale, title=None, axis=y_axis)

    layers = [alt.Chart(band).mark_rect(color=BAND, opacity=0.25).encode(y("low"), y2="high:Q")]
    if len(curve):
        layers += [
            alt.Chart(curve).mark_area(color=PALETTE[0], opacity=0.2, clip=True).encode(x, y("low"), y2="high:Q"),
            alt.Chart(curve).mark_line(color=PALETTE[0], strokeWidth=1.2, clip=True).encode(x, y("fit")),
        ]
    layers.append(alt.Chart(points).mark_circle(size=12, color=INK, opacity=0.7).encode(x, y("value")))
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, title=panel_title(metric.title))
