"""Figure of effects over the value that a sweep varies."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.foundation.numbers import number
from tickdisk.plot.effects import ratio_axis
from tickdisk.plot.theme import WIDTH, capital, checked, colour, finish, row

_WIDEST = 10.0
"""Factor beyond all ratios at which intervals are cut."""


def swept_effects(rows: pd.DataFrame, *, over: str, margin: float, level: float) -> Any:
    """Draws the ratio of each metric to the baseline over a value that was varied, with a panel for each metric.

    The columns are at (the value), series (the other values in words), metric, ratio, low and high (ends of its interval), and n.
    NaN is not drawn. `over` names the value, `level` is the confidence of all intervals of a metric together.
    """
    table = checked(rows, ["at", "series", "metric", "ratio", "low", "high", "n"], "sweep").dropna(subset=["ratio"])
    axis = ratio_axis(table, margin, _WIDEST)
    low, high = axis["scale"]["domain"]
    table = table.assign(
        low=table["low"].clip(low, high), high=table["high"].clip(low, high), words="n = " + table["n"].astype(str)
    )
    values = sorted(table["at"].unique(), key=lambda value: (isinstance(value, str), value))
    table["at"] = [value if isinstance(value, str) else number(value) for value in table["at"]]
    order, series = [value if isinstance(value, str) else number(value) for value in values], list(dict.fromkeys(table["series"]))
    x = alt.X("at:N", sort=order, title=over, axis=alt.Axis(labelAngle=0, grid=False))
    beside = alt.XOffset("series:N", sort=series)
    low_y, y = (alt.Y(f"{column}:Q", title="Ratio to the baseline (log)", **axis) for column in ("low", "ratio"))
    panels = []
    for metric in dict.fromkeys(table["metric"]):
        base = alt.Chart(table[table["metric"] == metric]).encode(x, beside, colour(series, "series", legend=len(series) > 1))
        layers = [
            row(low=1 / (1 + margin), high=1 + margin).mark_rect(style="margin").encode(low_y, y2="high:Q"),
            row(ratio=1).mark_rule(style="one").encode(y),
            base.transform_filter("isValid(datum.low)").mark_rule().encode(low_y, y2="high:Q"),
            base.mark_point().encode(y),
            base.mark_text(dx=6, align="left").encode(y, text="words:N"),
        ]
        panels.append(alt.layer(*layers).properties(width=WIDTH, height=220, title=capital(str(metric))))
    note = f"Geometric mean ratio with intervals that hold together at {level:.0%}; above 1 is slower; grey: margin"
    return finish(alt.vconcat(*panels), "Effect of the dose at each point of the sweep", note)
