"""Figures of the store: the time that each algorithm adds to a tick, measured and modelled, and every algorithm on each game."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, MUTED, NOTEBOOK, PALETTE, Theme, checked, finish, log_axis, row

_PANEL = 165
_LEAST_MS = 1e-3
"""Left end of the logarithmic axes in ms. Smaller values are drawn there."""
_MOST_TICKS = 5


def modelled_and_measured(table: pd.DataFrame, *, order: Sequence[str], kinds: Sequence[str], note: str) -> Any:
    """Draws the time that each algorithm adds to a tick over the updates per tick, measured and modelled, on logarithmic axes.

    The columns are algorithm, kind (one of `kinds`), rate (updates of the game's state per tick), and added_ms. The first of
    `kinds` is the measured kind and is drawn as points. The others are models and are drawn as lines.
    """
    rows = checked(table, ["algorithm", "kind", "rate", "added_ms"], "model and real")
    rows = rows.assign(added_ms=rows["added_ms"].clip(lower=_LEAST_MS))
    axis, x_axis = log_axis(rows["added_ms"], form="~g"), log_axis(rows["rate"], pad=1.3, form="~s")
    rates = sorted(set(rows["rate"]))
    if len(rates) <= _MOST_TICKS:
        x_axis["axis"] = alt.Axis(values=rates, format="~s")
    x = alt.X("rate:Q", title="Updates per tick", **x_axis)
    scale = alt.Scale(domain=list(kinds), range=[INK, *PALETTE[: len(kinds) - 1]])
    tone = alt.Color("kind:N", title=None, sort=list(kinds), scale=scale)
    panels: list[Any] = []
    for name in [name for name in order if name in set(rows["algorithm"])]:
        y = alt.Y("added_ms:Q", title=None if len(panels) % 3 else "Added per tick (ms)", **axis)
        own = alt.Chart(rows[rows["algorithm"] == name]).encode(x, y, tone)
        models = own.transform_filter(alt.datum.kind != kinds[0]).mark_line(point={"size": 18})
        real = own.transform_filter(alt.datum.kind == kinds[0]).mark_point(size=45)
        panels.append(alt.layer(models, real).properties(width=_PANEL, height=_PANEL - 25, title=name))
    grid = alt.concat(*panels, columns=3, spacing=10)
    return finish(grid, "Time that an algorithm adds to a tick: real, and what models say", note)


def overhead_by_game(table: pd.DataFrame, *, note: str = "", theme: Theme = NOTEBOOK) -> Any:
    """Draws the mean and the longest time that each algorithm adds to a tick of each game, on a logarithmic axis.

    The columns are game, algorithm, added_ms (mean), longest_ms, and limit_ms (longest acceptable time, drawn dashed). The
    algorithms that add the least come first. The paper has no title above a game.
    """
    rows = checked(table, ["game", "algorithm", "added_ms", "longest_ms", "limit_ms"], "algorithms and games")
    rows = rows.assign(**{name: rows[name].clip(lower=_LEAST_MS) for name in ("added_ms", "longest_ms")})
    axis = log_axis(pd.concat([rows["added_ms"], rows["longest_ms"], rows["limit_ms"]]), form="~g")
    panels = []
    for game, unordered in rows.groupby("game", sort=False):
        own = unordered.sort_values("added_ms")
        names = alt.Axis(grid=False, labelLimit=126 * theme.scale)
        base = alt.Chart(own).encode(alt.Y("algorithm:N", title=None, sort=own["algorithm"].tolist(), axis=names))
        mean, most = (alt.X(f"{name}:Q", title="Added to a tick (ms, log)", **axis) for name in ("added_ms", "longest_ms"))
        layers = [
            base.mark_rule(color=MUTED, strokeWidth=0.8 * theme.scale).encode(mean, x2="longest_ms"),
            base.mark_point(color=PALETTE[0]).encode(mean),
            base.mark_tick(thickness=1.6 * theme.scale, size=8 * theme.scale, color=PALETTE[1]).encode(most),
            row(added_ms=float(own["limit_ms"].iloc[0])).mark_rule(style="limit").encode(mean),
        ]
        width, height = theme.panel_width(1, 96, of_page=False), 11 * theme.scale * len(own)
        title = str(game) if theme.has_titles else ""
        panels.append(alt.layer(*layers).properties(width=width, height=height, title=title))
    return finish(alt.vconcat(*panels), "What each algorithm adds to a tick", note, theme=theme)
