"""Figures of the study of storage accesses: what a server reads and writes, when, in which sizes, and for how many regions."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.accesses import SIZES, FittedLine
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.plot.theme import (
    INK,
    MOST_ROWS,
    MUTED,
    NOTEBOOK,
    PALETTE,
    PAPER,
    WIDTH,
    Theme,
    checked,
    colour,
    finish,
    operation_colour,
)

DATA = ("terrain", "player", "npc", "other")
"""Types of the data that a server reads and writes, in the order of figures."""
_WORDS = {"read": "read", "write": "written"}
_CELLS = (400, 160)
_MB = 1e6


def data_names(values: "pd.Series[str]") -> list[str]:
    """Returns the types of data that occur in `values`, in their fixed order."""
    return [known for known in DATA if known in set(values)]


def cumulative_accesses(table: pd.DataFrame, *, saves_s: Sequence[float], life: str) -> Any:
    """Draws the bytes that a server has read and written so far over time, with one line for each data type.

    The table has the columns data (one of `DATA`), op ("read" or "write"), at_s, and bytes (so far), and any length. The last row
    in each of 400 stretches of time is drawn. Triangles mark the saves, and `life` is the name of the server life.
    """
    points = _so_far(table, 400)
    end_s = float(points["at_s"].max())
    tone = colour(data_names(points["data"]), "data", known=DATA)
    panels = []
    for op, x_title in (("read", None), ("write", "Time since the first access (s)")):
        x = _time(points, x_title)
        y = alt.Y("mb:Q", title=f"{_WORDS[op].capitalize()} so far (MB)")
        lines = alt.Chart(points[points["op"] == op]).mark_line(interpolate="step-after").encode(x, y, tone)
        panels.append((lines + _saves(saves_s, end_s, x, 150, NOTEBOOK)).properties(width=WIDTH + 120, height=150))
    words = f"One server life ({life}); triangles: its {sum(at <= end_s for at in saves_s)} saves"
    return finish(alt.vconcat(*panels, spacing=10), "Bytes read and written over time", words)


def _so_far(table: pd.DataFrame, stretches: int) -> pd.DataFrame:
    """Returns the last row in each of some stretches of time, for each type of data and operation."""
    stretch = np.floor(table["at_s"] / max(float(table["at_s"].max()), 1e-9) * stretches)
    last = table.groupby(["data", "op", stretch], as_index=False).last()
    last = last.assign(mb=last["bytes"] / _MB, what=last["op"].map(_WORDS))
    return checked(last, ["data", "op", "what", "at_s", "mb"], "cumulative accesses")


def _time(points: pd.DataFrame, title: str | None) -> alt.X:
    ends = [min(0.0, float(points["at_s"].min())), float(points["at_s"].max())]
    return alt.X("at_s:Q", title=title, scale=alt.Scale(domain=ends, nice=False))


def _saves(saves_s: Sequence[float], end_s: float, x: alt.X, height: float, theme: Theme) -> Any:
    marks = alt.Chart(pd.DataFrame({"at_s": [at for at in saves_s if at <= end_s]}))
    return marks.mark_point(shape="triangle-up", size=theme.area(8), color=INK).encode(x, y=alt.value(height - 3))


def access_sizes(table: pd.DataFrame) -> Any:
    """Draws the share of requests in each class of size, reads on the left and writes on the right, each of which add up to 1.

    The table has the columns data (one of `DATA`), op ("read" or "write"), size (one of `accesses.SIZES`), and requests (their
    number).
    """
    bars = checked(table, ["data", "op", "size", "requests"], "access sizes").astype({"size": str})
    bars["share"] = bars["requests"] / bars.groupby("op")["requests"].transform("sum")
    names, order = data_names(bars["data"]), [size for size in SIZES if size in set(bars["size"])]
    panels = []
    for op in ("read", "write"):
        own = bars[bars["op"] == op]
        chart = alt.Chart(own).mark_bar()
        chart = chart.encode(
            alt.Y("size:N", sort=order, scale=alt.Scale(domain=order), title=None),
            alt.X("share:Q", title=f"Share of {op}s", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            yOffset=alt.YOffset("data:N", sort=names, scale=alt.Scale(domain=names)),
            color=colour(names, "data", known=DATA),
        )
        title = f"{op.capitalize()}s (n = {own['requests'].sum():,})"
        panels.append(chart.properties(width=250, height={"step": 11}, title=title))
    words = "Size that was asked for, by data type; each direction adds up to 100 %"
    return finish(alt.hconcat(*panels, spacing=24), "Sizes of requests", words)


def offset_time(table: pd.DataFrame, *, store: str) -> Any:
    """Draws the offsets of reads and writes in the file `store` over time.

    The table has the columns at_s, offset (bytes), and op ("read" or "write"), and any length. There is a dot for each cell of a
    grid in which there is an access. The grid has 400 x 160 cells, or fewer if there would be too many dots.
    """
    where = np.stack([table["at_s"].to_numpy(dtype="float64"), table["offset"].to_numpy(dtype="float64") / (1 << 20)])
    top = np.maximum(where.max(axis=1, initial=0), 1e-9)[:, None]
    for coarse in (1, 2, 4, 8):
        step = top / np.array(_CELLS)[:, None] * coarse
        at_s, mib = (np.floor(where / step) + 0.5) * step
        drawn = pd.DataFrame({"at_s": at_s, "mib": mib, "op": table["op"].to_numpy()}).drop_duplicates()
        if len(drawn) <= MOST_ROWS:
            break
    points = checked(drawn, ["at_s", "mib", "op"], "offset over time")
    x = alt.X("at_s:Q", title="Time since the first access (s)", scale=alt.Scale(nice=False))
    y = alt.Y("mib:Q", title="Offset in the file (MiB)")
    chart = alt.Chart(points).mark_square(size=7, opacity=0.7).encode(x, y, operation_colour(points["op"]))
    words = f"n = {len(table):,} reads and writes of {store}; a dot where there is at least one"
    return finish(chart.properties(width=WIDTH + 120), "Where in the map the server reads and writes", words)


def accesses_over_regions(points: pd.DataFrame, lines: Mapping[str, FittedLine]) -> Any:
    """Draws reads of terrain over the number of regions that players came to, to show whether reads grow with regions.

    A region is the terrain around the place where a player arrives. Each kind of arrival has its fitted line, slope and R². The
    points have the columns kind (of arrival, such as "joins"), regions, and reads, with one row for each phase of a life.
    """
    words = ["A dot: the regions that players came to in a phase of a life; line: least squares, interval over lives"]
    for kind, line in lines.items():
        slope, fit = with_interval(line.slope, line.low, line.high), number(line.r_squared, trailing_zeros=True)
        words.append(f"{kind.capitalize()}: {slope} reads per region, R² = {fit}, n = {line.points} phases")
    return finish(_over_regions(points, lines, NOTEBOOK), "Accesses over regions", words)


def _over_regions(points: pd.DataFrame, lines: Mapping[str, FittedLine], theme: Theme) -> Any:
    rows = checked(points, ["kind", "regions", "reads"], "accesses over regions")
    x, y = alt.X("regions:Q", title="Regions"), alt.Y("reads:Q", title="Reads of terrain")
    tone = colour(list(dict.fromkeys(rows["kind"])), "kind")
    ends = (float(rows["regions"].min()), float(rows["regions"].max()))
    fits = pd.DataFrame(
        [
            {"kind": kind, "regions": regions, "reads": line.intercept + line.slope * regions}
            for kind, line in lines.items()
            if isfinite(line.slope)
            for regions in ends
        ],
        columns=["kind", "regions", "reads"],
    )
    drawn = alt.Chart(fits).mark_line(strokeWidth=theme.scale).encode(x, y, tone)
    return drawn + alt.Chart(rows).mark_circle(size=theme.area(14), opacity=0.8).encode(x, y, tone)


def predicted_observed(windows: pd.DataFrame) -> Any:
    """Draws the number of storage requests in each window between two saves, as observed and as a model predicts it.

    The model computes the requests of a server from the actions of its players. There is a panel for each life that the model was
    not fitted to. The columns are life, at_s (time since the first save), observed, and predicted.
    """
    rows = checked(windows, ["life", "at_s", "observed", "predicted"], "predicted and observed")
    kinds = ["observed", "predicted"]
    long = rows.melt(["life", "at_s"], kinds, var_name="what", value_name="requests")
    lives = list(dict.fromkeys(long["life"]))
    y = alt.Y("requests:Q", title=["Requests", "in a window"], scale=alt.Scale(domain=[0, 1.05 * float(long["requests"].max())]))
    dash = alt.StrokeDash("what:N", legend=None, scale=alt.Scale(domain=kinds, range=[[1, 0], [5, 3]]))
    panels = []
    for life in lives:
        last = "Time since the first save (s)" if life == lives[-1] else None
        lines = alt.Chart(long[long["life"] == life]).mark_line(interpolate="step-before")
        lines = lines.encode(alt.X("at_s:Q", title=last, scale=alt.Scale(nice=False)), y, dash, color=colour(kinds, "what"))
        panels.append(lines.properties(width=WIDTH + 120, height=130, title=life))
    counted = "1 life" if len(lives) == 1 else f"{len(lives)} lives"
    words = [
        f"n = {len(rows)} windows between saves in {counted} that the model was not fitted to",
        "The actions of players give the time of a flush only to a few seconds, so the model spreads requests that come at once",
    ]
    return finish(alt.vconcat(*panels, spacing=10), "Requests predicted and observed", words)


def accesses_at_a_glance(
    cumulative: pd.DataFrame,
    *,
    saves_s: Sequence[float],
    regions: pd.DataFrame,
    lines: Mapping[str, FittedLine],
    predicted: pd.DataFrame,
) -> Any:
    """Draws for the paper a server's bytes over time, reads over regions, and predicted over observed requests of each life.

    `cumulative` is as for `cumulative_accesses`, with all data as one type. `regions` and `lines` are as for
    `accesses_over_regions`. `predicted` has life, observed, and predicted (requests per minute), one row for each life.
    """
    height, points = 105, _so_far(cumulative, 300)
    x = _time(points, "Time (s)")
    curves = alt.Chart(points).mark_line(interpolate="step-after")
    curves = curves.encode(x, alt.Y("mb:Q", title="MB so far"), colour(list(_WORDS.values()), "what"))
    panels = {
        "Bytes over time": curves + _saves(saves_s, float(points["at_s"].max()), x, height, PAPER),
        "Reads over regions": _over_regions(regions, lines, PAPER),
        "Predicted lives": _predicted(predicted),
    }
    size = {"width": PAPER.panel_width(len(panels), 34 * len(panels)), "height": height}
    shown = alt.hconcat(*(panel.properties(**size, title=title) for title, panel in panels.items()))
    return finish(shown.resolve_scale(color="independent"), theme=PAPER)


def _predicted(predicted: pd.DataFrame) -> Any:
    rows = checked(predicted, ["life", "observed", "predicted"], "accesses")
    values = rows[["observed", "predicted"]].to_numpy(float)
    ends = [float(values.min()) * 0.9, float(values.max()) * 1.1]
    scale, axis = alt.Scale(domain=ends, nice=False, zero=False), alt.Axis(tickCount=4)
    x = alt.X("observed:Q", title="Observed requests/min", scale=scale, axis=axis)
    y = alt.Y("predicted:Q", title="Predicted", scale=scale, axis=axis)
    equal = alt.Chart(pd.DataFrame({"observed": ends, "predicted": ends})).mark_line(style="limit", color=MUTED)
    return equal.encode(x, y) + alt.Chart(rows).mark_point(color=PALETTE[0]).encode(x, y)
