"""Figure of a switchback over time: the device's latency in steps above, and tick gaps below."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.plot.theme import INK, MUTED, WIDTH, checked, colour, finish, log_scale, title

_MOST_GAPS = 1500


def _thinned(gaps: pd.DataFrame) -> pd.DataFrame:
    """Returns the longest gap in each of 1500 stretches of time, so that no stall is lost."""
    if len(gaps) <= _MOST_GAPS:
        return gaps
    stretch = np.linspace(0, _MOST_GAPS - 1, len(gaps)).astype(int)
    return gaps.loc[gaps.groupby(stretch)["gap_ms"].idxmax()]


def switchback_timeline(
    epochs: pd.DataFrame,
    gaps: pd.DataFrame,
    *,
    budget_ms: float,
    order: Sequence[str] | None = None,
    saves_ns: Sequence[int] = (),
) -> Any:
    """Draws one server life over time: the device's latency above, and tick gaps below on a logarithmic axis.

    `epochs` has the columns arm, latency_ms, start_ns, steady_ns (time from which the epoch is analysed), and end_ns, one row for
    each epoch. `gaps` has start_ns and gap_ms, and any length. The longest gap in each of 1500 stretches is drawn. Gaps in the
    part of an epoch that is cut are pale. The arms are coloured in the given order, or in that of their latencies. Triangles mark
    the saves.
    """
    steps = checked(epochs, ["arm", "latency_ms", "start_ns", "steady_ns", "end_ns"], "timeline").sort_values("start_ns")
    arms = list(order) if order is not None else list(steps.sort_values("latency_ms", kind="stable")["arm"].unique())
    zero = int(steps["start_ns"].min())
    for name in ("start", "steady", "end"):
        steps[f"{name}_s"] = (steps[f"{name}_ns"] - zero) / 1e9
    first, last = int(steps["start_ns"].iloc[0]), int(steps["end_ns"].iloc[-1])
    inside = gaps[(gaps["start_ns"] >= first) & (gaps["start_ns"] < last)]
    points = checked(_thinned(inside.reset_index(drop=True)), ["start_ns", "gap_ms"], "timeline")
    which = np.searchsorted(steps["start_ns"].to_numpy(), points["start_ns"].to_numpy(), side="right") - 1
    points = points.assign(
        at_s=(points["start_ns"] - zero) / 1e9,
        arm=steps["arm"].to_numpy()[which],
        part=np.where(points["start_ns"].to_numpy() < steps["steady_ns"].to_numpy()[which], "cut", "analysed"),
    )
    x_scale = alt.Scale(domain=[0, (last - first) / 1e9], nice=False)
    floor = float(steps.loc[steps["latency_ms"] > 0, "latency_ms"].min())
    steps["shown_ms"] = steps["latency_ms"].clip(lower=floor / 2)
    latency_scale, latency_ticks = log_scale(steps["shown_ms"], pad=1.6)
    tone = colour(arms)
    upper = (
        alt.Chart(steps)
        .mark_rule(strokeWidth=5)
        .encode(
            alt.X("start_s:Q", scale=x_scale, title=None, axis=alt.Axis(labels=False, grid=False)),
            x2="end_s:Q",
            y=alt.Y(
                "shown_ms:Q",
                scale=latency_scale,
                title=["Device", "latency (ms)"],
                axis=alt.Axis(values=latency_ticks, format=",~r"),
            ),
            color=tone,
        )
        .properties(width=WIDTH + 160, height=110)
    )
    gap_scale, gap_ticks = log_scale(points["gap_ms"], budget_ms)
    x = alt.X("at_s:Q", scale=x_scale, title="Time since the first epoch (s)", axis=alt.Axis(grid=False))
    dots = (
        alt.Chart(points)
        .mark_circle(size=16)
        .encode(
            x,
            alt.Y("gap_ms:Q", scale=gap_scale, title="Tick gap (ms)", axis=alt.Axis(values=gap_ticks, format=",~r")),
            color=tone,
            opacity=alt.Opacity("part:N", scale=alt.Scale(domain=["analysed", "cut"], range=[0.9, 0.18]), legend=None),
        )
    )
    budget = alt.Chart(pd.DataFrame({"budget_ms": [budget_ms]})).mark_rule(color=INK, strokeDash=[4, 3]).encode(y="budget_ms:Q")
    switches = alt.Chart(steps).mark_rule(color=MUTED, opacity=0.25).encode(alt.X("start_s:Q", scale=x_scale))
    layers = [switches, dots, budget]
    if saves_ns:
        saved = pd.DataFrame(
            {"at_s": [(at - zero) / 1e9 for at in saves_ns if first <= at < last], "gap_ms": gap_scale.to_dict()["domain"][0]}
        )
        layers.append(
            alt.Chart(saved).mark_point(shape="triangle-up", size=26, color=INK, filled=True, yOffset=-4).encode(x, y="gap_ms:Q")
        )
    lower = alt.layer(*layers).properties(width=WIDTH + 160, height=240)
    save_words = "; triangles: saves" if saves_ns else ""
    return finish(
        alt.vconcat(upper, lower, spacing=8).properties(
            title=title(
                "The device changes under a running server",
                [
                    f"{len(steps)} epochs of one server life; n = {len(inside):,} ticks"
                    + (f", the longest in each of {_MOST_GAPS:,} stretches shown" if len(inside) > _MOST_GAPS else ""),
                    f"Pale: cut after each switch; dashed: step of {budget_ms:g} ms{save_words}",
                ],
            )
        )
    )
