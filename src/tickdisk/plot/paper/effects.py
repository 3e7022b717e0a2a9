"""Figure of the effects of all arms as ratios with their intervals, with one panel for each metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.effects import VERDICT_COLOURS
from tickdisk.plot.paper.place import PAGE, finish, panel_title
from tickdisk.plot.theme import BAND, MUTED, checked, log_scale

_LABELS = 118
_SPACING = 12
_ROW = 13
_WIDEST = 30.0
"""Factor beyond all ratios at which intervals are cut. An interval from a few lives can span decades."""


def effects(rows: pd.DataFrame, *, order: Sequence[str], words: Mapping[str, str], margin: float) -> Any:
    """Draws the ratio of each arm to the baseline with its interval, coloured by verdict, at the width of the page.

    The columns are arm, metric, ratio, low and high (ends of its interval), and verdict. `words` has the label of each arm. The
    margin of equivalence is shaded.
    """
    table = checked(rows, ["arm", "metric", "ratio", "low", "high", "verdict"], "effects")
    table["arm"] = table["arm"].map(words)
    arms, metrics = [words[arm] for arm in order], list(dict.fromkeys(table["metric"]))
    width = (PAGE - _LABELS - _SPACING * (len(metrics) - 1)) / len(metrics)
    panels = [
        _panel(table[table["metric"] == metric], metric, arms, margin, width, is_first=metric == metrics[0]) for metric in metrics
    ]
    return finish(alt.hconcat(*panels, spacing=_SPACING))


def _panel(own: pd.DataFrame, metric: str, arms: Sequence[str], margin: float, width: float, *, is_first: bool) -> Any:
    drawn = own.dropna(subset=["ratio"])
    most = float(drawn["ratio"].max()) if len(drawn) else 2.0
    ends = pd.concat([drawn["ratio"], drawn["low"].dropna(), drawn["high"].dropna()]).clip(1 / _WIDEST, most * _WIDEST)
    scale, ticks = log_scale(ends if len(ends) else pd.Series([0.5, 2.0]), 1 / (1 + margin), 1 + margin, pad=1.1)
    low, high = scale.to_dict()["domain"]
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high] if high / low > 4 else ticks  # noqa: PLR2004
    own = own.assign(cut_low=own["low"].clip(low, high), cut_high=own["high"].clip(low, high))
    axis = alt.Axis(values=ticks, format=",~r")

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", scale=scale, title="Ratio to the baseline (log)", axis=axis)

    y = alt.Y("arm:N", scale=alt.Scale(domain=list(arms)), title=None, axis=alt.Axis(grid=False, labels=is_first, ticks=is_first))
    tone = alt.Color(
        "verdict:N", legend=None, scale=alt.Scale(domain=list(VERDICT_COLOURS), range=list(VERDICT_COLOURS.values()))
    )
    band = pd.DataFrame({"low": [1 / (1 + margin)], "high": [1 + margin]})
    layers = [
        alt.Chart(band).mark_rect(color=BAND, opacity=0.22).encode(x("low"), x2="high:Q"),
        alt.Chart(pd.DataFrame({"ratio": [1]})).mark_rule(color=MUTED, strokeWidth=0.7).encode(x("ratio")),
        alt.Chart(own.dropna(subset=["low"])).mark_rule(strokeWidth=1.6).encode(x("cut_low"), y, x2="cut_high:Q", color=tone),
        alt.Chart(own.dropna(subset=["ratio"]))
        .mark_point(filled=True, size=26, opacity=1, clip=True)
        .encode(x("ratio"), y, color=tone),
    ]
    return alt.layer(*layers).properties(width=width, height=_ROW * len(arms), title=panel_title(metric))
