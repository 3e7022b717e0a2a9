"""Figures of the study of storage accesses: what a server reads and writes, when, in which sizes, and for how many regions."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from tickdisk.accesses import SIZES, Line
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.plot.theme import INK, MOST_ROWS, MUTED, PALETTE, WIDTH, checked, colour, finish, title

DATA = ("terrain", "player", "npc", "other")
"""Types of the data that a server reads and writes, in the order of figures."""
_OPS = {"read": PALETTE[0], "write": PALETTE[1], "sync": PALETTE[2]}
_STRETCHES = 400
_CELLS = (400, 160)
_MB = 1e6


def _own(name: str, values: Sequence[str] | pd.Series) -> list[str]:
    """Returns the known data types or operations that occur in `values`, in their fixed order."""
    return [known for known in (DATA if name == "data" else _OPS) if known in set(values)]


def cumulative_accesses(table: pd.DataFrame, *, saves_s: Sequence[float], life: str) -> Any:
    """Draws the bytes that a server has read and written so far over time, with one line for each data type.

    The table has the columns data (one of `DATA`), op ("read" or "write"), at_s, and bytes (so far), and any length. The last row
    in each of 400 stretches of time is drawn. Triangles mark the saves, and `life` is the name of the server life.
    """
    stretch = np.floor(table["at_s"] / max(float(table["at_s"].max()), 1e-9) * _STRETCHES)
    last = table.groupby(["data", "op", stretch], as_index=False).last()
    points = checked(last.assign(mb=last["bytes"] / _MB), ["data", "op", "at_s", "mb"], "cumulative accesses")
    names, end_s = _own("data", points["data"]), float(points["at_s"].max())
    x_scale = alt.Scale(domain=[min(0.0, float(points["at_s"].min())), end_s], nice=False)
    marks = pd.DataFrame({"at_s": [at for at in saves_s if at <= end_s]})
    panels = []
    for op, word in (("read", "Read"), ("write", "Written")):
        last_panel = op == "write"
        x = alt.X("at_s:Q", scale=x_scale, title="Time since the first access (s)" if last_panel else None)
        lines = (
            alt.Chart(points[points["op"] == op])
            .mark_line(interpolate="step-after", strokeWidth=1.8)
            .encode(x, alt.Y("mb:Q", title=f"{word} so far (MB)"), color=colour(names, "data", known=DATA))
        )
        triangles = alt.Chart(marks).mark_point(shape="triangle-up", size=26, color=INK, filled=True)
        panels.append(alt.layer(lines, triangles.encode(x, y=alt.value(146))).properties(width=WIDTH + 120, height=150))
    words = f"One server life ({life}); triangles: its {len(marks)} saves"
    return finish(alt.vconcat(*panels, spacing=10).properties(title=title("Bytes read and written over time", words)))


def access_sizes(table: pd.DataFrame) -> Any:
    """Draws the share of requests in each class of size, reads on the left and writes on the right, each of which add up to 1.

    The table has the columns data (one of `DATA`), op ("read" or "write"), size (one of `accesses.SIZES`), and requests (their
    number).
    """
    bars = checked(table, ["data", "op", "size", "requests"], "access sizes").astype({"size": str})
    bars["share"] = bars["requests"] / bars.groupby("op")["requests"].transform("sum")
    names, order = _own("data", bars["data"]), [size for size in SIZES if size in set(bars["size"])]
    panels = []
    for op, word in (("read", "Reads"), ("write", "Writes")):
        own = bars[bars["op"] == op]
        panels.append(
            alt.Chart(own)
            .mark_bar()
            .encode(
                alt.Y("size:N", sort=order, scale=alt.Scale(domain=order), title=None),
                alt.X("share:Q", title=f"Share of {word.lower()}", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
                yOffset=alt.YOffset("data:N", sort=names, scale=alt.Scale(domain=names)),
                color=colour(names, "data", known=DATA),
            )
            .properties(
                width=250, height={"step": 11}, title=alt.TitleParams(f"{word} (n = {own['requests'].sum():,})", fontSize=12)
            )
        )
    words = "Size that was asked for, by data type; each direction adds up to 100 %"
    return finish(alt.hconcat(*panels, spacing=24).properties(title=title("Sizes of requests", words)))


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
    ops = _own("op", points["op"])
    chart = (
        alt.Chart(points)
        .mark_square(size=7, opacity=0.7)
        .encode(
            alt.X("at_s:Q", title="Time since the first access (s)", scale=alt.Scale(nice=False)),
            alt.Y("mib:Q", title="Offset in the file (MiB)"),
            color=alt.Color("op:N", title=None, scale=alt.Scale(domain=ops, range=[_OPS[op] for op in ops])),
        )
    )
    words = f"n = {len(table):,} reads and writes of {store}; a dot where there is at least one"
    return finish(chart.properties(width=WIDTH + 120, title=title("Where in the map the server reads and writes", words)))


def accesses_over_regions(points: pd.DataFrame, lines: Mapping[str, Line]) -> Any:
    """Draws reads of terrain over the number of regions that players came to, to show whether reads grow with regions.

    A region is the terrain around the place where a player arrives. There is a panel for each kind of arrival, with its fitted
    line, slope and R². The points have the columns kind (of arrival, such as "joins"), life, regions, and reads, with one row for
    each phase of a life.
    """
    rows = checked(points, ["kind", "life", "regions", "reads"], "accesses over regions")
    panels = []
    for index, (kind, line) in enumerate(lines.items()):
        own = rows[rows["kind"] == kind]
        ends = pd.DataFrame({"regions": [0.0, float(own["regions"].max()) if len(own) else 1.0]})
        ends["reads"] = line.intercept + line.slope * ends["regions"]
        x = alt.X("regions:Q", title="Regions that players came to", scale=alt.Scale(zero=True))
        quantity = "Reads of terrain" if index == 0 else None
        y = alt.Y("reads:Q", title=quantity, scale=alt.Scale(nice=5), axis=alt.Axis(tickCount=5))
        drawn = alt.Chart(ends.dropna()).mark_line(color=PALETTE[0], clip=True).encode(x, y)
        dots = alt.Chart(own).mark_circle(size=55, color=INK, opacity=0.65).encode(x, y)
        slope, fit = with_interval(line.slope, line.low, line.high), number(line.r_squared, trailing_zeros=True)
        note = [f"{slope} reads per region", f"R² = {fit}, n = {line.points} phases"]
        heading = alt.TitleParams(kind.capitalize(), subtitle=note, fontSize=12, subtitleFontSize=11)
        panels.append(alt.layer(drawn, dots).properties(width=260, height=240, title=heading))
    words = "A dot is a phase of a server life; line: least squares, interval over lives"
    return finish(alt.hconcat(*panels, spacing=48, bounds="flush").properties(title=title("Accesses over regions", words)))


def predicted_observed(windows: pd.DataFrame) -> Any:
    """Draws the number of storage requests in each window between two saves, as observed and as a model predicts it.

    The model computes the requests of a server from the actions of its players. There is a panel for each life that the model was
    not fitted to. The columns are life, at_s (time since the first save), observed, and predicted.
    """
    rows = checked(windows, ["life", "at_s", "observed", "predicted"], "predicted and observed")
    long = rows.melt(["life", "at_s"], ["observed", "predicted"], var_name="what", value_name="requests")
    lives = list(dict.fromkeys(long["life"]))
    top = float(long["requests"].max()) * 1.05
    panels = []
    for life in lives:
        last = life == lives[-1]
        panels.append(
            alt.Chart(long[long["life"] == life])
            .mark_line(interpolate="step-before", strokeWidth=1.8)
            .encode(
                alt.X("at_s:Q", title="Time since the first save (s)" if last else None, scale=alt.Scale(nice=False)),
                alt.Y("requests:Q", title=["Requests", "in a window"], scale=alt.Scale(domain=[0, top])),
                color=colour(["observed", "predicted"], "what"),
                strokeDash=alt.StrokeDash(
                    "what:N", legend=None, scale=alt.Scale(domain=["observed", "predicted"], range=[[1, 0], [5, 3]])
                ),
            )
            .properties(
                width=WIDTH + 120,
                height=130,
                title=alt.TitleParams(life, fontSize=12, anchor="start", offset=4, color=MUTED),
            )
        )
    counted = "1 life" if len(lives) == 1 else f"{len(lives)} lives"
    words = [
        f"n = {len(rows)} windows between saves in {counted} that the model was not fitted to",
        "The actions of players give the time of a flush only to a few seconds, so the model spreads requests that come at once",
    ]
    return finish(alt.vconcat(*panels, spacing=10).properties(title=title("Requests predicted and observed", words)))
