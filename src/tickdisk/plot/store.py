"""Figures of the store: the time that each algorithm adds to a tick, measured and modelled, and every algorithm on each game."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, MUTED, PALETTE, checked, finish, log_scale, title

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
    y_scale, y_ticks = log_scale(rows["added_ms"])
    x_scale, decades = log_scale(rows["rate"], pad=1.3)
    rates = sorted(set(rows["rate"]))
    x_ticks = decades if len(rates) > _MOST_TICKS else rates
    shown = [name for name in order if name in set(rows["algorithm"])]
    tone = alt.Color(
        "kind:N",
        title=None,
        sort=list(kinds),
        scale=alt.Scale(domain=list(kinds), range=[INK, *PALETTE[: len(kinds) - 1]]),
    )
    panels = []
    for index, name in enumerate(shown):
        own = alt.Chart(rows[rows["algorithm"] == name]).encode(
            alt.X("rate:Q", title="Updates per tick", scale=x_scale, axis=alt.Axis(values=x_ticks, format="~s")),
            alt.Y(
                "added_ms:Q",
                title="Added per tick (ms)" if index % 3 == 0 else None,
                scale=y_scale,
                axis=alt.Axis(values=y_ticks, format="~g"),
            ),
            tone,
        )
        models = own.transform_filter(alt.datum.kind != kinds[0]).mark_line(strokeWidth=1.8, point={"size": 18})
        real = own.transform_filter(alt.datum.kind == kinds[0]).mark_point(filled=True, size=45, opacity=1)
        label = alt.TitleParams(name, fontSize=11, fontWeight="normal", offset=2)
        panels.append(alt.layer(models, real).properties(width=_PANEL, height=_PANEL - 25, title=label))
    grid = alt.concat(*panels, columns=3, spacing=10)
    return finish(grid.properties(title=title("Time that an algorithm adds to a tick: real, and what models say", note)))


def overhead_by_game(table: pd.DataFrame, *, games: Sequence[str], note: str) -> Any:
    """Draws the mean and the longest time that each algorithm adds to a tick of each game, on a logarithmic axis.

    The columns are game, algorithm, added_ms (mean), longest_ms, and limit_ms (longest acceptable time, drawn dashed). The
    algorithms that add the least come first.
    """
    rows = checked(table, ["game", "algorithm", "added_ms", "longest_ms", "limit_ms"], "algorithms and games")
    rows = rows.assign(added_ms=rows["added_ms"].clip(lower=_LEAST_MS), longest_ms=rows["longest_ms"].clip(lower=_LEAST_MS))
    scale, ticks = log_scale(pd.concat([rows["added_ms"], rows["longest_ms"], rows["limit_ms"]]))
    panels = []
    for game in games:
        own = rows[rows["game"] == game].sort_values("added_ms")
        y = alt.Y("algorithm:N", title=None, sort=own["algorithm"].tolist())
        base = alt.Chart(own)

        def x(column: str) -> alt.X:
            return alt.X(f"{column}:Q", title="Added to a tick (ms)", scale=scale, axis=alt.Axis(values=ticks, format="~g"))

        spans = base.mark_rule(color=MUTED).encode(x("added_ms"), y, x2="longest_ms")
        means = base.mark_point(filled=True, size=60, opacity=1, color=PALETTE[0]).encode(x("added_ms"), y)
        most = base.mark_tick(thickness=2.5, size=12, color=PALETTE[1]).encode(x("longest_ms"), y)
        limit = base.mark_rule(color=INK, strokeDash=[4, 3]).encode(x("limit_ms"))
        label = alt.TitleParams(game, fontSize=11, fontWeight="normal", offset=2)
        panels.append(alt.layer(spans, means, most, limit).properties(width=330, height=190, title=label))
    grid = alt.vconcat(*panels, spacing=12)
    return finish(grid.properties(title=title("What each algorithm adds to a tick", note)))
