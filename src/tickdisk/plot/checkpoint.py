"""Figures of the study of checkpoints: costs over a parameter of the workload, costs for a game, and the length of each tick."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import MUTED, NOTEBOOK, WIDTH, Theme, checked, colour, finish, log_axis, row

_ROW_HEIGHT = 64


def checkpoint_costs(
    table: pd.DataFrame,
    *,
    x: str,
    x_title: str,
    quantities: Mapping[str, str],
    order: Sequence[str],
    heading: str = "",
    note: str = "",
    theme: Theme = NOTEBOOK,
) -> Any:
    """Draws costs of checkpoints, such as the time added to a tick, over a parameter of the workload, such as the update rate.

    The table has the columns algorithm, `x`, and those in `quantities`, which gives the title of the panel for each. The axis of
    x is logarithmic for `rate`, and linear otherwise. Costs have logarithmic axes. `order` has the algorithms in the order of
    their colours.
    """
    rows = checked(table, ["algorithm", x, *quantities], f"costs over {x}")
    values = sorted(set(rows[x]))
    axis: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": alt.Axis(values=values)}
    if x == "rate":
        axis = log_axis(rows[x], pad=1.05) | {"axis": alt.Axis(values=values[::2], format="~s")}
    base = alt.Chart(rows).mark_line(point={"size": theme.area(14)})
    base = base.encode(alt.X(f"{x}:Q", title=x_title, **axis), color=colour(order, "algorithm"))
    size = {"width": theme.panel_width(len(quantities), 32 * len(quantities)), "height": 105 * theme.height}
    panels = [
        base.encode(alt.Y(f"{column}:Q", title=None, **log_axis(rows[column], form="~g"))).properties(**size, title=title)
        for column, title in quantities.items()
    ]
    return finish(alt.hconcat(*panels), heading, note, theme=theme, legend_columns=3)


def checkpoint_game(table: pd.DataFrame, *, order: Sequence[str], heading: str, note: str) -> Any:
    """Draws the costs of checkpoints for one game, with a panel for each cost and a dot for each algorithm on a logarithmic axis.

    The table has the columns algorithm, quantity (name of the cost, with its unit), and value.
    """
    rows = checked(table, ["algorithm", "quantity", "value"], "the game")
    panels: list[Any] = []
    for quantity, own in rows.groupby("quantity", sort=False):
        x = alt.X("value:Q", title=str(quantity), **log_axis(own["value"], pad=1.4, form="~g"))
        y = alt.Y("algorithm:N", title=None, sort=list(order), axis=alt.Axis(labels=not panels))
        marks = alt.Chart(own).mark_point().encode(x, y, color=colour(order, "algorithm", legend=False))
        panels.append(marks.properties(width=165, height=170))
    return finish(alt.hconcat(*panels), heading, note)


def tick_lengths(table: pd.DataFrame, *, limit_ms: float, tick_ms: float, order: Sequence[str], note: str) -> Any:
    """Draws the length of every tick while checkpoints are written, with a panel for each algorithm in `order`.

    The table has the columns algorithm, tick, and length_ms. `limit_ms` is the longest tick that is acceptable, drawn dashed.
    Bars begin at `tick_ms`, the length of a tick without a checkpoint.
    """
    rows = checked(table, ["algorithm", "tick", "length_ms"], "tick lengths")
    highest = max(float(rows["length_ms"].max()), limit_ms) * 1.05
    y = alt.Y("length_ms:Q", title="ms", scale=alt.Scale(domain=[tick_ms, highest], nice=False), axis=alt.Axis(tickCount=3))
    limit = row(length_ms=limit_ms).mark_rule(style="limit", color=MUTED).encode(y)
    scale, axis = alt.Scale(zero=False, nice=False), alt.Axis(format="d")
    panels = []
    for name in order:
        x = alt.X("tick:Q", title="Tick" if name == order[-1] else None, scale=scale, axis=axis)
        bars = alt.Chart(rows[rows["algorithm"] == name]).mark_bar(width=5)
        bars = bars.encode(x, y, y2=alt.datum(tick_ms), color=colour(order, "algorithm", legend=False))
        panels.append(alt.layer(bars, limit).properties(width=WIDTH + 60, height=_ROW_HEIGHT, title=name))
    return finish(alt.vconcat(*panels, spacing=6), "How long ticks take while checkpoints are written", note)
