"""Figure of the load that a disk carries: how late ticks are and how long actions take, over the number of players."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, NOTEBOOK, Theme, checked, colour_and_shape, decades, finish, row

_PANELS = {"late": "Ticks are late by (s/min)", "p95": "p95 of actions (ms)"}


def late_by_players(steps: pd.DataFrame, *, most_late: float, most_p95: float, level: float, theme: Theme = NOTEBOOK) -> Any:
    """Draws two metrics over the number of players, with a row of panels for each metric, and a panel for each server.

    `steps` has a row for each server, disk (its name in words), metric (late in s/min, or p95 in ms) and players, with the mean
    over blocks and the ends low and high of its interval of the confidence `level`, which are NaN without one. `most_late` and
    `most_p95` are the limits.
    """
    table = checked(steps, ["server", "disk", "metric", "players", "mean", "low", "high"], "load by players").dropna(
        subset=["mean"]
    )
    servers, numbers = list(dict.fromkeys(table["server"])), sorted(table["players"].unique().tolist())
    tone, form = colour_and_shape(list(dict.fromkeys(table["disk"])), "disk")
    rows = []
    for metric, limit in (("late", most_late), ("p95", most_p95)):
        own = table[table["metric"] == metric]
        shown = own.assign(**{end: own[end].fillna(own["mean"]).clip(lower=0) for end in ("mean", "low", "high")})
        # The axis is linear near 0, where no tick is late, and logarithmic above the limit.
        most = max(float(shown["high"].max()), limit) * 1.3
        ticks = [value for value in decades(limit / 10, most) if value >= limit / 3]
        scale = alt.Scale(type="symlog", constant=limit / 2, domain=[0, most], nice=False)
        panels: list[Any] = []
        for server in servers:
            x = alt.X(
                "players:Q",
                title="Players" if metric == "p95" else None,
                scale=alt.Scale(type="log", domain=[numbers[0] * 0.8, numbers[-1] * 1.25], nice=False),
                axis=alt.Axis(values=numbers, format="d"),
            )
            axis = alt.Axis(format=",~r", values=[0.0, *ticks], labelOverlap=True)
            mean, low = (
                alt.Y(f"{name}:Q", title=None if panels else _PANELS[metric], scale=scale, axis=axis) for name in ("mean", "low")
            )
            base = alt.Chart(shown[shown["server"] == server])
            layers = [
                row(limit=limit)
                .mark_rule(color=INK, strokeDash=[4, 3])
                .encode(alt.Y("limit:Q", title=None if panels else _PANELS[metric], scale=scale, axis=axis)),
                base.mark_rule().encode(x, low, y2="high:Q", color=tone),
                base.mark_line().encode(x, mean, color=tone),
                base.mark_point(filled=True, size=theme.area(25)).encode(x, mean, color=tone, shape=form),
            ]
            size = {"width": theme.panel_width(len(servers), 30 * len(servers)), "height": 70 * theme.height}
            panels.append(alt.layer(*layers).properties(**size, **({"title": server} if metric == "late" else {})))
        rows.append(alt.hconcat(*panels))
    words = f"Means with {level:.0%} intervals over blocks; the dashed line is the limit"
    return finish(alt.vconcat(*rows), "How late ticks and actions are, by players and disk", words, theme=theme)
