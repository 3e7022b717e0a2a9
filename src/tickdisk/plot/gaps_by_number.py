"""Figure of the longest tick gap over a number, such as that of the servers on one disk."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import NOTEBOOK, Theme, checked, colour_and_shape, finish, log_axis


def gaps_by_number(gaps: pd.DataFrame, *, level: float, number: str, title: str, theme: Theme = NOTEBOOK) -> Any:
    """Draws the longest tick gap over a number, with a line for each disk and a panel for each server.

    `gaps` has a row for each server, disk (its name in words) and number, with the mean over blocks in ms and the ends low and
    high of its interval of the confidence `level`, which are NaN without one. `number` is the title of the axis.
    """
    table = checked(gaps, ["server", "disk", "number", "mean", "low", "high"], "gaps").dropna(subset=["mean"])
    table = table.assign(**{end: table[end].fillna(table["mean"]) for end in ("low", "high")})
    servers, numbers = list(dict.fromkeys(table["server"])), sorted(table["number"].unique().tolist())
    tone, form = colour_and_shape(list(dict.fromkeys(table["disk"])), "disk")
    axis = log_axis(pd.concat([table["mean"], table["low"].clip(lower=table["mean"].min() / 2), table["high"]]))
    panels: list[Any] = []
    for server in servers:
        own = alt.Chart(table[table["server"] == server])
        x = alt.X(
            "number:Q",
            title=number,
            scale=alt.Scale(type="log", domain=[numbers[0] * 0.8, numbers[-1] * 1.25], nice=False),
            axis=alt.Axis(values=numbers, format="d"),
        )
        mean, low = (alt.Y(f"{name}:Q", title=None if panels else "Gap (ms, log)", **axis) for name in ("mean", "low"))
        layers = [
            own.mark_rule(clip=True).encode(x, low, y2="high:Q", color=tone),
            own.mark_line().encode(x, mean, color=tone),
            own.mark_point(filled=True, size=theme.area(25)).encode(x, mean, color=tone, shape=form),
        ]
        size = {"width": theme.panel_width(len(servers), 30 * len(servers)), "height": 90 * theme.height}
        panels.append(alt.layer(*layers).properties(**size, title=server))
    words = f"Means with {level:.0%} intervals over blocks"
    return finish(alt.hconcat(*panels), title, words, theme=theme)
