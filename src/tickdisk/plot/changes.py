"""Figure of the changes of a server: what ticks gain on a slow disk, and what a power cut loses."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, NOTEBOOK, PALETTE, Theme, checked, finish, log_axis, spread_axis

_DISKS = {"slow": PALETTE[1], "fast": PALETTE[0]}


def gains_and_losses(
    gaps: pd.DataFrame,
    losses: pd.DataFrame,
    *,
    metric: str,
    slow_ms: float,
    fast_ms: float,
    level: float,
    theme: Theme = NOTEBOOK,
) -> Any:
    """Draws a tick metric on a slow and a fast disk beside the play that a power cut loses, for each change of each server.

    `gaps` has the columns server, change, disk (slow or fast), ms, low and high (ends of its interval). `losses` has server,
    change, seconds, low, high, and a note that stands beside the bar, and it may be empty. Numbers that are NaN are not drawn.
    `metric` is the name of the metric in prose, `slow_ms` and `fast_ms` are the latencies of the disks, and `level` is the
    confidence of the intervals.
    """
    table = checked(gaps, ["server", "change", "disk", "ms", "low", "high"], "gains of changes").dropna(subset=["ms"])
    table, lost = _with_ends(table, "ms"), _with_ends(losses.fillna({"seconds": 0.0}), "seconds")
    servers, count = list(dict.fromkeys(table["server"])), 1 if lost.empty else 2
    ms_axis = log_axis(pd.concat([table["ms"], table["low"], table["high"]]))
    seconds_axis = spread_axis([*lost["seconds"], *lost["high"], 0.0], 1e9) if len(lost) else {}
    lines = []
    for server in servers:
        own, is_last = table[table["server"] == server], server == servers[-1]
        order = list(dict.fromkeys(own["change"]))
        size = {"width": theme.panel_width(count, 130), "height": 14 * theme.scale * len(order)}
        label = alt.Axis(grid=False, labelLimit=100 * theme.scale, minExtent=100 * theme.scale, maxExtent=100 * theme.scale)
        names = alt.Y("change:N", sort=order, title=server, scale=alt.Scale(domain=order), axis=label)
        # The fast disk stands above the slow one, so that equal gaps do not hide each other.
        beside = alt.YOffset("disk:N", sort=list(_DISKS)[::-1], scale=alt.Scale(paddingOuter=0.6))
        heading = f"{metric} (ms, log)" if is_last else None
        at, low = (alt.X(f"{name}:Q", title=heading, **ms_axis) for name in ("ms", "low"))
        tone = alt.Color(
            "disk:N",
            scale=alt.Scale(domain=list(_DISKS), range=list(_DISKS.values())),
            legend=alt.Legend(title=None, labelExpr=f"datum.label == 'slow' ? '{slow_ms:g} ms' : '{fast_ms:g} ms'"),
        )
        base = alt.Chart(own).encode(names, tone, beside)
        panels: list[Any] = [
            alt.layer(base.mark_rule().encode(low, x2="high:Q"), base.mark_point().encode(at)).properties(**size)
        ]
        if count > 1:
            unnamed = alt.Y("change:N", sort=order, title=None, scale=alt.Scale(domain=order), axis=None)
            heading = "Play lost in a power cut (s)" if is_last else None
            at, low, high = (alt.X(f"{name}:Q", title=heading, **seconds_axis) for name in ("seconds", "low", "high"))
            base = alt.Chart(lost[lost["server"] == server]).encode(unnamed)
            bars = base.mark_bar(color=PALETTE[7], height=6 * theme.scale).encode(at)
            ends = base.mark_rule(color=INK, strokeWidth=theme.scale).encode(low, x2="high:Q")
            notes = base.mark_text(align="left", dx=4 * theme.scale).encode(high, text="note:N")
            panels.append(alt.layer(bars, ends, notes).properties(**size))
        lines.append(alt.hconcat(*panels))
    words = f"Means with {level:.0%} intervals, left over blocks, right over server lives with power cuts"
    return finish(alt.vconcat(*lines), "Changes of a server: gain on a slow disk, and price of a power cut", words, theme=theme)


def _with_ends(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Returns rows in which an interval that is not known has no length."""
    return rows.assign(**{end: rows[end].fillna(rows[value]) for end in ("low", "high")})
