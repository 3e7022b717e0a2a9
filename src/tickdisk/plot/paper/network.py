"""Figure of network stacks: round-trip time, processor time, memory and bytes over the number of players."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.paper.place import PAGE, finish, panel_title
from tickdisk.plot.theme import MUTED, PALETTE, checked, log_scale

PANELS = ("RTT (ms)", "Server (% of its cores)", "Memory (MiB)", "Sent (kB/s a player)")
"""Quantities, in the order of the panels."""
_HEIGHT, _SPACING, _LABELS = 110, 10, 26
_SHAPES = ("circle", "square", "triangle-up", "diamond")


def network(rows: pd.DataFrame, stacks: Sequence[str], thresholds_ms: Sequence[float]) -> Any:
    """Draws what each stack costs over the number of players, at the width of the page.

    The columns are panel (one of `PANELS`), stack (at most four), players, value, low and high (ends of its interval, which may
    be NaN). `thresholds_ms` are the round-trip times that players notice, drawn as dashed lines in the first panel.
    """
    table = checked(rows, ["panel", "stack", "players", "value", "low", "high"], "network").dropna(subset=["value"])
    width = PAGE / len(PANELS) - _SPACING - _LABELS
    panels = [
        _panel(table[table["panel"] == panel], panel, list(stacks), thresholds_ms if panel == PANELS[0] else (), width)
        for panel in PANELS
    ]
    return finish(alt.hconcat(*panels, spacing=_SPACING))


def _panel(own: pd.DataFrame, panel: str, stacks: list[str], thresholds_ms: Sequence[float], width: float) -> Any:
    values = pd.concat([own["value"], pd.Series([1.0])]) if own.empty else own["value"]
    scale, ticks = log_scale(values, *thresholds_ms, pad=1.2)
    low, high = scale.to_dict()["domain"]
    own = own.assign(low=own["low"].fillna(own["value"]).clip(low, high), high=own["high"].fillna(own["value"]).clip(low, high))
    players = sorted(set(own["players"]))
    x = alt.X(
        "players:Q",
        scale=alt.Scale(zero=False, padding=6),
        axis=alt.Axis(values=players, format="d", labelOverlap=True),
        title="Players",
    )
    y = alt.Y("value:Q", scale=scale, axis=alt.Axis(values=ticks, format=",~r"), title=None)
    colour = alt.Color("stack:N", scale=alt.Scale(domain=stacks, range=list(PALETTE[: len(stacks)])), title=None)
    shape = alt.Shape("stack:N", scale=alt.Scale(domain=stacks, range=list(_SHAPES[: len(stacks)])), title=None)
    base = alt.Chart(own)
    layers = [
        alt.Chart(pd.DataFrame({"ms": list(thresholds_ms)}))
        .mark_rule(strokeDash=[3, 2], color=MUTED)
        .encode(alt.Y("ms:Q", scale=scale))
    ] * bool(thresholds_ms)
    layers += [
        base.mark_line(strokeWidth=1).encode(x, y, colour),
        base.mark_rule(strokeWidth=0.8).encode(x, alt.Y("low:Q", scale=scale), alt.Y2("high:Q"), colour),
        base.mark_point(filled=True, size=22, opacity=1).encode(x, y, colour, shape),
    ]
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, title=panel_title(panel))
