"""Figure of an effect over the number of players."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, NOTEBOOK, PALETTE, Theme, checked, finish, row, spread_axis


def added_by_players(
    points: pd.DataFrame, lines: pd.DataFrame, *, latency_ms: float, level: float, theme: Theme = NOTEBOOK
) -> Any:
    """Draws what a slow device adds to the longest tick gap over the number of players, with a panel and an axis for each server.

    `points` has a row for each life with server, players and added_ms. `lines` has the mean of the lines of blocks at numbers of
    players, with server, players, fit, low and high in ms; it may be empty, and low and high are NaN without an interval of the
    confidence `level`. `latency_ms` is that of the slow device.
    """
    dots = checked(points, ["server", "players", "added_ms"], "players").dropna()
    servers, numbers = list(dict.fromkeys(dots["server"])), sorted(dots["players"].unique().tolist())
    x = alt.X(
        "players:Q",
        title="Players",
        scale=alt.Scale(domain=[0, max(numbers) * 1.05], nice=False),
        axis=alt.Axis(values=numbers, format="d"),
    )
    panels: list[Any] = []
    for server in servers:
        own, line = dots[dots["server"] == server], lines[lines["server"] == server]
        ends = [*own["added_ms"].tolist(), *line["fit"], *line["low"].dropna(), *line["high"].dropna(), 0.0]
        title = None if panels else "Added to the longest gap (ms)"
        low, fit, dot = (alt.Y(f"{column}:Q", title=title, **spread_axis(ends, 1e9)) for column in ("low", "fit", "added_ms"))
        layers = [row(fit=0).mark_rule(style="one").encode(fit)]
        if len(line):
            layers += [
                alt.Chart(line.dropna()).mark_area(color=PALETTE[0], opacity=0.2).encode(x, low, y2="high:Q"),
                alt.Chart(line).mark_line(color=PALETTE[0]).encode(x, fit),
            ]
        layers.append(alt.Chart(own).mark_circle(size=theme.area(12), color=INK, opacity=0.7).encode(x, dot))
        size = {"width": theme.panel_width(len(servers), 30 * len(servers)), "height": 90 * theme.height}
        panels.append(alt.layer(*layers).properties(**size, title=f"{server} (n = {len(own)})"))
    words = f"A dot is a server life; line: mean of the lines of blocks, with the {level:.0%} band over blocks"
    return finish(alt.hconcat(*panels), f"What {latency_ms:g} ms of storage latency add, by players", words, theme=theme)
