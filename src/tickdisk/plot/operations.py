"""Figure of the time that slow reads, writes and flushes add, by server."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import BAND, INK, MUTED, NOTEBOOK, OPERATIONS, Theme, capital, checked, finish, row

_COLOURS = (*OPERATIONS.values(), BAND, MUTED)


def added_by_operation(rows: pd.DataFrame, *, slow_ms: float, margin: float, level: float, theme: Theme = NOTEBOOK) -> Any:
    """Draws as bars what slow operations add to metrics in ms, with a row of panels for each server and a column for each metric.

    The columns are server, metric, op (reads, writes, flushes, their sum and all together, in this order), ms, low and high (ends
    of its interval), and within (the margin of equivalence in ms, which is shaded). Every panel has an axis of its own. An
    interval that is NaN is not drawn. `slow_ms` is the latency of a slow operation, `margin` is a share of the baseline, and
    `level` the confidence of the intervals.
    """
    table = checked(rows, ["server", "metric", "op", "ms", "low", "high", "within"], "added time by operation")
    servers, metrics, ops = (list(dict.fromkeys(table[name])) for name in ("server", "metric", "op"))
    tone = alt.Color("op:N", legend=None, scale=alt.Scale(domain=ops, range=list(_COLOURS[: len(ops)])))
    lines = []
    for server in servers:
        panels: list[Any] = []
        for metric in metrics:
            names = alt.Axis(grid=False, labels=not panels, ticks=not panels)
            y = alt.Y("op:N", sort=ops, title=None if panels else server, axis=names)
            heading = "Added (ms)" if server == servers[-1] else None
            ms, low = (alt.X(f"{name}:Q", title=heading, axis=alt.Axis(tickCount=4, format=",~r")) for name in ("ms", "low"))
            own = table[(table["server"] == server) & (table["metric"] == metric)]
            base, within = alt.Chart(own).encode(y), float(own["within"].iloc[0])
            panel = alt.layer(
                row(low=-within, high=within).mark_rect(style="margin").encode(low, x2="high:Q"),
                base.mark_bar().encode(ms, tone),
                base.transform_filter("isValid(datum.low)")
                .mark_rule(color=INK, strokeWidth=theme.scale)
                .encode(low, x2="high:Q"),
                row(ms=0).mark_rule(style="one").encode(ms),
            )
            size = {"width": theme.panel_width(len(metrics), 60), "height": 9.5 * theme.scale * len(ops)}
            panels.append(panel.properties(**size, title=capital(metric) if server == servers[0] else ""))
        lines.append(alt.hconcat(*panels))
    notes = (
        f"Bar: mean over lives of what {slow_ms:g} ms add; line: {level:.0%} interval; grey: within {margin:.0%} of the baseline"
    )
    return finish(alt.vconcat(*lines), "Time added by slow reads, writes and flushes", notes, theme=theme)
