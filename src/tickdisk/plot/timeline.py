"""Figure of a switchback over time: the device's latency in steps above, and tick gaps below."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.plot.theme import NOTEBOOK, PALETTE, Theme, checked, finish, log_axis, row

_MOST_GAPS = 1200
_LABELS = 40


def switchback_timeline(
    epochs: pd.DataFrame, gaps: pd.DataFrame, *, budget_ms: float, words: Mapping[str, str], theme: Theme = NOTEBOOK
) -> Any:
    """Draws one server life over time: the device's latency above, and tick gaps below on a logarithmic axis.

    `epochs` has the columns arm, latency_ms, start_ns, steady_ns (time from which the epoch is analysed), and end_ns, one row for
    each epoch. `gaps` has start_ns and gap_ms, and any length. The longest gap in each of 1,200 stretches is drawn, so that no
    stall is lost. Gaps in the part of an epoch that is cut are pale. `words` has the label above the epoch of each arm.
    """
    steps = checked(epochs, ["arm", "latency_ms", "start_ns", "steady_ns", "end_ns"], "timeline").sort_values("start_ns")
    zero_ns = int(steps["start_ns"].min())
    for name in ("start", "steady", "end"):
        steps[f"{name}_s"] = (steps[f"{name}_ns"] - zero_ns) / 1e9
    positive = steps.loc[steps["latency_ms"] > 0, "latency_ms"]
    # The logarithm has no place for a latency of 0, which is drawn below the smallest one.
    steps["latency_ms"] = steps["latency_ms"].clip(lower=float(positive.min()) / 2 if len(positive) else 1.0)
    end_s = float(steps["end_s"].max())
    steps = steps.assign(label=steps["arm"].map(words), middle_s=(steps["start_s"] + steps["end_s"]) / 2)
    inside = gaps.assign(at_s=(gaps["start_ns"] - zero_ns) / 1e9)
    inside = inside[(inside["at_s"] >= 0) & (inside["at_s"] < end_s)]
    panels = [
        _latencies(steps, theme).properties(height=62 * theme.height),
        _gaps(_points(inside, steps), steps, budget_ms, theme).properties(height=105 * theme.height),
    ]
    width = theme.page - _LABELS * theme.scale
    shown = alt.vconcat(*(panel.properties(width=width) for panel in panels), spacing=3 * theme.scale)
    thinned = f", the longest in each of {_MOST_GAPS:,} stretches shown" if len(inside) > _MOST_GAPS else ""
    notes = [
        f"{len(steps)} epochs of one server life; n = {len(inside):,} ticks{thinned}",
        f"Pale: cut after each switch; dashed: step of {budget_ms:g} ms",
    ]
    return finish(shown, "The device changes under a running server", notes, theme=theme)


def _latencies(steps: pd.DataFrame, theme: Theme) -> Any:
    axis = log_axis(steps["latency_ms"], pad=2.2)
    low, high = axis["scale"]["domain"]
    axis["axis"] = alt.Axis(values=[10.0**power for power in range(-9, 9) if low <= 10.0**power <= high], format=",~r")
    scale = alt.Scale(domain=[0, float(steps["end_s"].max())], nice=False)
    base = alt.Chart(steps).encode(alt.Y("latency_ms:Q", title="Latency (ms, log)", **axis))
    x = alt.X("start_s:Q", scale=scale, title=None, axis=alt.Axis(labels=False, ticks=False, grid=False))
    bars = base.mark_rule(strokeWidth=3 * theme.scale, color=PALETTE[0]).encode(x, x2="end_s:Q")
    return bars + base.mark_text(dy=-7 * theme.scale).encode(alt.X("middle_s:Q", scale=scale), text="label:N")


def _gaps(points: pd.DataFrame, steps: pd.DataFrame, budget_ms: float, theme: Theme) -> Any:
    scale = alt.Scale(domain=[0, float(steps["end_s"].max())], nice=False)
    y = alt.Y("gap_ms:Q", title="Tick gap (ms, log)", **log_axis(points["gap_ms"], budget_ms))
    x = alt.X("at_s:Q", scale=scale, title="Time since the first epoch (s)", axis=alt.Axis(grid=False))
    opacity = alt.Opacity("part:N", scale=alt.Scale(domain=["analysed", "cut"], range=[0.85, 0.2]), legend=None)
    dots = alt.Chart(points).mark_circle(size=theme.area(7), color=PALETTE[0]).encode(x, y, opacity)
    switches = alt.Chart(steps).mark_rule(style="one", opacity=0.4).encode(alt.X("start_s:Q", scale=scale))
    return alt.layer(switches, dots, row(gap_ms=budget_ms).mark_rule(style="limit").encode(y))


def _points(inside: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Returns the longest gap in each of 1,200 stretches, and whether it is in the part of its epoch that is cut."""
    inside = inside.reset_index(drop=True)
    if len(inside) > _MOST_GAPS:
        stretch = np.linspace(0, _MOST_GAPS - 1, len(inside)).astype(int)
        inside = inside.loc[inside.groupby(stretch)["gap_ms"].idxmax()]
    at_s = inside["at_s"].to_numpy()
    epoch = np.searchsorted(steps["start_s"].to_numpy(), at_s, side="right") - 1
    part = np.where(at_s < steps["steady_s"].to_numpy()[epoch], "cut", "analysed")
    return checked(inside.assign(part=part), ["at_s", "gap_ms", "part"], "timeline")
