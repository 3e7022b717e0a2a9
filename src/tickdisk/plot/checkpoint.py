"""Figures of the study of checkpoints: costs over a parameter of the workload, costs for a game, and the length of each tick."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import MUTED, WIDTH, checked, colour, finish, log_scale, title

_ROW_HEIGHT = 64


def checkpoint_cost(
    table: pd.DataFrame, *, x: str, y: str, order: Sequence[str], titles: tuple[str, str], heading: str, note: str
) -> Any:
    """Draws a cost of checkpoints, such as the time added to a tick, over a parameter of the workload, such as the update rate.

    The table has the columns algorithm, `x` and `y`. The axis of x is logarithmic for `rate`, and linear otherwise. The axis of y
    is logarithmic. `order` has the algorithms in the order of their colours, and `titles` those of the two axes.
    """
    rows = checked(table, ["algorithm", x, y], f"{y} over {x}")
    scale, ticks = log_scale(rows[y])
    if x == "rate":
        x_scale, x_ticks = log_scale(rows[x], pad=1.05)
        x_axis = alt.Axis(values=sorted(set(rows[x])) or x_ticks, format="~s")
    else:
        x_scale, x_axis = alt.Scale(zero=False), alt.Axis(values=sorted(set(rows[x])))
    base = alt.Chart(rows).encode(
        alt.X(f"{x}:Q", title=titles[0], scale=x_scale, axis=x_axis),
        alt.Y(f"{y}:Q", title=titles[1], scale=scale, axis=alt.Axis(values=ticks, format="~g")),
        color=colour(order, "algorithm", "Algorithm"),
    )
    lines = base.mark_line(strokeWidth=1.8) + base.mark_point(filled=True, size=40, opacity=1)
    return finish(lines.properties(width=WIDTH, title=title(heading, note)))


def checkpoint_game(table: pd.DataFrame, *, order: Sequence[str], heading: str, note: str) -> Any:
    """Draws the costs of checkpoints for one game, with a panel for each cost and a dot for each algorithm on a logarithmic axis.

    The table has the columns algorithm, quantity (name of the cost, with its unit), and value.
    """
    rows = checked(table, ["algorithm", "quantity", "value"], "the game")
    panels: list[Any] = []
    for quantity, own in rows.groupby("quantity", sort=False):
        scale, ticks = log_scale(own["value"], pad=1.4)
        panels.append(
            alt.Chart(own)
            .mark_point(filled=True, size=90, opacity=1)
            .encode(
                alt.X("value:Q", title=str(quantity), scale=scale, axis=alt.Axis(values=ticks, format="~g")),
                alt.Y("algorithm:N", title=None, sort=list(order), axis=alt.Axis(labels=not panels)),
                color=colour(order, "algorithm", legend=False),
            )
            .properties(width=165, height=170)
        )
    return finish(alt.hconcat(*panels, spacing=14).properties(title=title(heading, note)))


def tick_lengths(table: pd.DataFrame, *, limit_ms: float, tick_ms: float, order: Sequence[str], note: str) -> Any:
    """Draws the length of every tick while checkpoints are written, with a panel for each algorithm in `order`.

    The table has the columns algorithm, tick, and length_ms. `limit_ms` is the longest tick that is acceptable, drawn dashed.
    Bars begin at `tick_ms`, the length of a tick without a checkpoint.
    """
    rows = checked(table, ["algorithm", "tick", "length_ms"], "tick lengths")
    highest = max(float(rows["length_ms"].max()), limit_ms) * 1.05
    y = alt.Y("length_ms:Q", title="ms", scale=alt.Scale(domain=[tick_ms, highest], nice=False), axis=alt.Axis(tickCount=3))
    panels = []
    for name in order:
        own = rows[rows["algorithm"] == name]
        x = alt.X(
            "tick:Q",
            title="Tick" if name == order[-1] else None,
            scale=alt.Scale(zero=False, nice=False),
            axis=alt.Axis(format="d"),
        )
        bars = alt.Chart(own).mark_bar(width=5).encode(x, y, color=colour(order, "algorithm", legend=False))
        bars = bars.encode(y2=alt.datum(tick_ms))
        limit = alt.Chart(pd.DataFrame({"length_ms": [limit_ms]})).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(y)
        label = alt.TitleParams(name, fontSize=11, fontWeight="normal", offset=2)
        panels.append(alt.layer(bars, limit).properties(width=WIDTH + 60, height=_ROW_HEIGHT, title=label))
    heading = "How long ticks take while checkpoints are written"
    return finish(alt.vconcat(*panels, spacing=6).properties(title=title(heading, note)))
