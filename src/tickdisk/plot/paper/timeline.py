"""Figure of one server life of the switchback: the device's latency in steps above, and tick gaps below."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.plot.paper.place import PAGE, finish
from tickdisk.plot.theme import INK, MUTED, PALETTE, checked, log_scale

_MOST_GAPS = 1200
_AXES = 40


def timeline(epochs: pd.DataFrame, gaps: pd.DataFrame, *, budget_ms: float, words: Mapping[str, str]) -> Any:
    """Draws one server life of the switchback over time, with the device's latency above and tick gaps below.

    `epochs` has the columns arm, latency_ms, start_ns, steady_ns (time from which the epoch is analysed), and end_ns, one row for
    each epoch. `gaps` has start_ns and gap_ms, and any length. The longest gap in each of 1,200 stretches of time is drawn, so
    that no stall is lost. `words` has the label above the epoch of each arm.
    """
    steps = checked(epochs, ["arm", "latency_ms", "start_ns", "steady_ns", "end_ns"], "timeline").sort_values("start_ns")
    zero = int(steps["start_ns"].min())
    for name in ("start", "steady", "end"):
        steps[f"{name}_s"] = (steps[f"{name}_ns"] - zero) / 1e9
    steps["label"] = steps["arm"].map(words)
    steps["middle_s"] = (steps["start_s"] + steps["end_s"]) / 2
    end_s = float(steps["end_s"].max())
    points = _points(gaps, steps, zero, end_s)
    x_scale = alt.Scale(domain=[0, end_s], nice=False)
    latency_scale, _ = log_scale(steps["latency_ms"].clip(lower=1e-3), pad=2.2)
    width = PAGE - _AXES
    x = alt.X("start_s:Q", scale=x_scale, title=None, axis=alt.Axis(labels=False, ticks=False, grid=False))
    y = alt.Y("latency_ms:Q", scale=latency_scale, title="Latency (ms, log)", axis=alt.Axis(values=[0.1, 1, 10], format=",~r"))
    bars = alt.Chart(steps).mark_rule(strokeWidth=3, color=PALETTE[0]).encode(x, y, x2="end_s:Q")
    labels = (
        alt.Chart(steps)
        .mark_text(dy=-7)
        .encode(alt.X("middle_s:Q", scale=x_scale), alt.Y("latency_ms:Q", scale=latency_scale), text="label:N")
    )
    upper = alt.layer(bars, labels).properties(width=width, height=62)
    gap_scale, gap_ticks = log_scale(points["gap_ms"], budget_ms)
    gap_y = alt.Y("gap_ms:Q", scale=gap_scale, title="Tick gap (ms, log)", axis=alt.Axis(values=gap_ticks, format=",~r"))
    gap_x = alt.X("at_s:Q", scale=x_scale, title="Time since the first epoch (s)", axis=alt.Axis(grid=False))
    opacity = alt.Opacity("part:N", scale=alt.Scale(domain=["analysed", "cut"], range=[0.85, 0.2]), legend=None)
    dots = alt.Chart(points).mark_circle(size=7, color=PALETTE[0]).encode(gap_x, gap_y, opacity=opacity)
    switches = alt.Chart(steps).mark_rule(color=MUTED, opacity=0.4, strokeWidth=0.6).encode(alt.X("start_s:Q", scale=x_scale))
    step = alt.Chart(pd.DataFrame({"gap_ms": [budget_ms]})).mark_rule(color=INK, strokeDash=[3, 2], strokeWidth=0.7).encode(gap_y)
    lower = alt.layer(switches, dots, step).properties(width=width, height=105)
    return finish(alt.vconcat(upper, lower, spacing=3))


def _points(gaps: pd.DataFrame, steps: pd.DataFrame, zero: int, end_s: float) -> pd.DataFrame:
    inside = gaps.assign(at_s=(gaps["start_ns"] - zero) / 1e9)
    inside = inside[(inside["at_s"] >= 0) & (inside["at_s"] < end_s)].reset_index(drop=True)
    if len(inside) > _MOST_GAPS:
        stretch = np.linspace(0, _MOST_GAPS - 1, len(inside)).astype(int)
        inside = inside.loc[inside.groupby(stretch)["gap_ms"].idxmax()]
    which = np.searchsorted(steps["start_s"].to_numpy(), inside["at_s"].to_numpy(), side="right") - 1
    part = np.where(inside["at_s"].to_numpy() < steps["steady_s"].to_numpy()[which], "cut", "analysed")
    return checked(inside.assign(part=part), ["at_s", "gap_ms", "part"], "timeline")
