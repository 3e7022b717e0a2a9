"""Figure of the accesses of a server in three panels, at the width of the page."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.plot.paper.place import PAGE, finish, panel_title
from tickdisk.plot.theme import INK, MUTED, PALETTE, checked, colour

_AXES, _SPACING, _HEIGHT = 34, 12, 105
_STRETCHES = 300
_MB = 1e6


def accesses(
    cumulative: pd.DataFrame, *, saves_s: Sequence[float], regions: pd.DataFrame, lines: pd.DataFrame, predicted: pd.DataFrame
) -> Any:
    """Draws a server's bytes over time, its reads of terrain over regions, and predicted over observed requests of each life.

    `cumulative` has the columns op ("read" or "write"), at_s, and bytes (so far) of one life, of which the last row in each of
    300 stretches of time is drawn, with triangles at its saves. `regions` has kind ("joins" or "teleports"), regions (number that
    players came to), and reads, one row for each phase of a life. `lines` has kind, regions, and reads, with two points of the
    line of each kind. `predicted` has life, observed, and predicted (requests per minute), one row for each life.
    """
    width = (PAGE - _AXES * 3 - _SPACING * 2) / 3
    drawn = [_over_time(cumulative, saves_s), _over_regions(regions, lines), _predicted(predicted)]
    panels = [panel.properties(width=width, height=_HEIGHT) for panel in drawn]
    return finish(alt.hconcat(*panels, spacing=_SPACING).resolve_scale(color="independent"))


def _over_time(cumulative: pd.DataFrame, saves_s: Sequence[float]) -> Any:
    words = {"read": "read", "write": "written"}
    stretch = np.floor(cumulative["at_s"] / max(float(cumulative["at_s"].max()), 1e-9) * _STRETCHES)
    last = cumulative.groupby(["op", stretch], as_index=False).last()
    points = checked(last.assign(mb=last["bytes"] / _MB, what=last["op"].map(words)), ["what", "at_s", "mb"], "accesses")
    end_s = float(points["at_s"].max())
    x = alt.X("at_s:Q", title="Time (s)", scale=alt.Scale(domain=[min(0.0, float(points["at_s"].min())), end_s], nice=False))
    curves = (
        alt.Chart(points)
        .mark_line(interpolate="step-after", strokeWidth=1.2)
        .encode(x, alt.Y("mb:Q", title="MB so far"), color=colour(list(words.values()), "what"))
    )
    marks = pd.DataFrame({"at_s": [at for at in saves_s if at <= end_s]})
    saves = alt.Chart(marks).mark_point(shape="triangle-up", size=8, filled=True, color=INK).encode(x, y=alt.value(_HEIGHT - 3))
    return alt.layer(curves, saves).properties(title=panel_title("Bytes over time"))


def _over_regions(regions: pd.DataFrame, lines: pd.DataFrame) -> Any:
    points = checked(regions, ["kind", "regions", "reads"], "accesses")
    kinds = list(dict.fromkeys(points["kind"]))
    x, y = alt.X("regions:Q", title="Regions"), alt.Y("reads:Q", title="Reads of terrain")
    dots = alt.Chart(points).mark_circle(size=14, opacity=0.8).encode(x, y, color=colour(kinds, "kind"))
    fits = (
        alt.Chart(checked(lines, ["kind", "regions", "reads"], "accesses"))
        .mark_line(strokeWidth=1)
        .encode(x, y, color=colour(kinds, "kind"))
    )
    return alt.layer(fits, dots).properties(title=panel_title("Reads over regions"))


def _predicted(predicted: pd.DataFrame) -> Any:
    rows = checked(predicted, ["life", "observed", "predicted"], "accesses")
    values = rows[["observed", "predicted"]].to_numpy(float)
    ends = [float(values.min()) * 0.9, float(values.max()) * 1.1]
    scale = alt.Scale(domain=ends, nice=False, zero=False)
    x = alt.X("observed:Q", title="Observed requests/min", scale=scale, axis=alt.Axis(tickCount=4))
    y = alt.Y("predicted:Q", title="Predicted", scale=scale, axis=alt.Axis(tickCount=4))
    equal = pd.DataFrame({"observed": ends, "predicted": ends})
    layers = [
        alt.Chart(equal).mark_line(color=MUTED, strokeDash=[3, 2], strokeWidth=0.7).encode(x, y),
        alt.Chart(rows).mark_point(filled=True, size=26, opacity=1, color=PALETTE[0]).encode(x, y),
    ]
    return alt.layer(*layers).properties(title=panel_title("Predicted lives"))
