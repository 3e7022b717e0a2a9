"""Figures of network stacks: what they cost over the number of players, and how long a step of players must last."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import MUTED, PAPER, checked, colour, colour_and_shape, finish, log_axis


def stack_costs(rows: pd.DataFrame, stacks: Sequence[str], thresholds_ms: Sequence[float]) -> Any:
    """Draws what each stack costs over the number of players for the paper, with a panel for each quantity.

    The columns are panel (its title), stack (at most four), players, value, low and high (ends of its interval, which may be
    NaN). `thresholds_ms` are the round-trip times that players notice, drawn as dashed lines in the first panel.
    """
    table = checked(rows, ["panel", "stack", "players", "value", "low", "high"], "network")
    titles, panels = list(dict.fromkeys(table["panel"])), list[Any]()
    size = {"width": PAPER.panel_width(len(titles), 26 * len(titles)), "height": 110}
    for title in titles:
        own, limits = table[table["panel"] == title].dropna(subset=["value"]), [] if panels else thresholds_ms
        panels.append(_panel(own, stacks, limits).properties(**size, title=title))
    return finish(alt.hconcat(*panels), theme=PAPER)


def _panel(own: pd.DataFrame, stacks: Sequence[str], limits: Sequence[float]) -> Any:
    axis = log_axis(own["value"], *(limits or [1.0] * own.empty), pad=1.2)
    own = own.assign(**{end: own[end].fillna(own["value"]).clip(*axis["scale"]["domain"]) for end in ("low", "high")})
    players = alt.Axis(values=sorted(set(own["players"])), format="d", labelOverlap=True)
    x = alt.X("players:Q", scale=alt.Scale(zero=False, padding=6), axis=players, title="Players")
    low, y, dashed = (alt.Y(f"{column}:Q", title=None, **axis) for column in ("low", "value", "ms"))
    tone, shape = colour_and_shape(stacks, "stack")
    base = alt.Chart(own).encode(x, tone)
    thresholds = alt.Chart(pd.DataFrame({"ms": list(limits)})).mark_rule(style="limit", color=MUTED).encode(dashed)
    return alt.layer(
        *([thresholds] if limits else []),
        base.mark_line(strokeWidth=1).encode(y),
        base.mark_rule(strokeWidth=0.8).encode(low, y2="high:Q"),
        base.mark_point(size=22).encode(y, shape),
    )


def settled_rtt(rows: pd.DataFrame, stacks: Sequence[str], players: int) -> Any:
    """Draws how the standard deviation of the round-trip time settles in a step, from which follows how long a step must last.

    The columns are stack, at_s (seconds since the begin of the step) and sd_ms (standard deviation of all pings up to then).
    `players` is their number in the step.
    """
    table = checked(rows, ["stack", "at_s", "sd_ms"], "settled RTT").dropna()
    table = table[table["sd_ms"] > 0]
    axis = log_axis(table["sd_ms"], *[1.0, 2.0] * table.empty)
    x = alt.X("at_s:Q", title="Time since the step is steady (s)")
    y = alt.Y("sd_ms:Q", title="Standard deviation of RTT (ms)", **axis)
    words = f"Standard deviation of all pings so far, of the first life with {players} players who stand still"
    return finish(alt.Chart(table).mark_line().encode(x, y, colour(stacks, "stack")), "How long a step must last", words)
