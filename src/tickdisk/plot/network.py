"""Figures of the study of network stacks."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import HEIGHT, WIDTH, checked, colour, finish, log_scale, title


def settled_rtt(rows: pd.DataFrame, stacks: Sequence[str], players: int) -> Any:
    """Draws how the standard deviation of the round-trip time settles in a step, from which follows how long a step must last.

    The columns are stack, at_s (seconds since the begin of the step) and sd_ms (standard deviation of all pings up to then).
    `players` is their number in the step.
    """
    table = checked(rows, ["stack", "at_s", "sd_ms"], "settled RTT").dropna()
    table = table[table["sd_ms"] > 0]
    scale, ticks = log_scale(table["sd_ms"] if len(table) else pd.Series([1.0, 2.0]))
    chart = (
        alt.Chart(table)
        .mark_line()
        .encode(
            alt.X("at_s:Q", title="Time since the step is steady (s)"),
            alt.Y("sd_ms:Q", scale=scale, axis=alt.Axis(values=ticks, format=",~r"), title="Standard deviation of RTT (ms)"),
            colour(stacks, "stack"),
        )
        .properties(
            width=WIDTH,
            height=HEIGHT,
            title=title(
                "How long a step must last",
                f"Standard deviation of all pings so far, of the first life with {players} players who stand still",
            ),
        )
    )
    return finish(chart)
