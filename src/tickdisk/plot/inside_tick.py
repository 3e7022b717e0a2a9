"""Figures of the inside of a tick: its time thread by thread, causes of late time, and the injected stalls that blame found."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, PALETTE, WIDTH, checked, finish
from tickdisk.plot.theme import title as headed

_WIDE = WIDTH + 200
_STATES = {
    "computing": PALETTE[0],
    "storage": PALETTE[1],
    "storage behind a lock": PALETTE[4],
    "waiting for a thread": PALETTE[3],
    "waiting for a core": PALETTE[5],
    "asleep": "#EDEDED",
}
_CAUSES = {
    "storage": _STATES["storage"],
    "waiting for threads": _STATES["waiting for a thread"],
    "pauses of the runtime": PALETTE[2],
    "computing": _STATES["computing"],
    "waiting for a core": _STATES["waiting for a core"],
    "its own pace": _STATES["asleep"],
}
"""Colours of causes. A cause has the colour of the state in which the time was spent."""
_FILES = ("#117733", "#332288", "#88CCEE", "#882255", "#DDCC77", "#AA4499", "#999999")
"""Colours of files, from Tol's muted palette (2021). They differ from the colours of states."""
_STALL = "#F0E442"
_STALLS = {"device_stall": "disk stalled", "cpu_stall": "core kept busy"}
_PARTS = (("states", "state", "Threads"), ("calls", "file", "Calls on files"), ("service", "file", "Disk"))


def tick_timeline(
    tables: Mapping[str, pd.DataFrame],
    *,
    span_s: tuple[float, float],
    saves_s: Sequence[float],
    budget_ms: float | None,
    heading: str,
    notes: Sequence[str],
) -> Any:
    """Draws a stretch of time in four rows: tick gaps split by where the time went, threads, their calls by file, and the disk.

    The tables are ticks (start_s, end_s, state, low_ms, high_ms), states of threads (row, state, start_s, end_s), calls on files
    and service by the disk (both row, file, start_s, end_s), and stalls (kind, start_s, end_s), which are shaded. A row of ticks
    is the part of a bar from low_ms to high_ms that the tick spent in a state. The column row names the line of the figure, such
    as a thread. The first four have at most 5,000 rows each, and a row of the figure below the first is left out if its table is
    empty.

    The step of `budget_ms` is dashed. If it is None, there are no ticks, and seconds take their place. Triangles mark the saves.
    """
    stalls = tables["stalls"].assign(word=tables["stalls"]["kind"].map(_STALLS))

    def x(column: str, *, last: bool = False) -> alt.X:
        axis = alt.Axis(grid=False, labels=last, ticks=last, format="~r")
        title = f"Time since the first {'tick' if budget_ms is not None else 'second'} (s)" if last else None
        return alt.X(f"{column}:Q", scale=alt.Scale(domain=list(span_s), nice=False), title=title, axis=axis)

    def panel(layers: list[Any], height: int, *, last: bool = False) -> Any:
        shade = alt.Chart(stalls).mark_rect(color=_STALL, opacity=0.35).encode(x("start_s", last=last), x2="end_s:Q")
        return alt.layer(shade, *layers).properties(width=_WIDE, height=height)

    def tone(column: str, names: list[str], colours: Sequence[str], words: str, *, legend: bool) -> alt.Color:
        scale = alt.Scale(domain=names, range=list(colours)[: len(names)])
        box = alt.Legend(columns=3, symbolType="square", symbolOpacity=1) if legend else None
        return alt.Color(f"{column}:N", scale=scale, title=words, legend=box)

    def states(*, legend: bool) -> alt.Color:
        return tone(
            "state", list(_STATES), list(_STATES.values()), "Where the time of a tick and of a thread went", legend=legend
        )

    files = sorted({*tables["calls"]["file"], *tables["service"]["file"]})
    bars = checked(tables["ticks"], ["start_s", "end_s", "state", "low_ms", "high_ms"], "tick timeline")
    bars = bars.assign(**{end: bars[end].clip(*span_s) for end in ("start_s", "end_s")})
    top = float(bars["high_ms"].max()) * 1.3
    unit = "Tick gap" if budget_ms is not None else "Each second"
    y = alt.Y("low_ms:Q", title=f"{unit} (ms)", scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(format=",~r"))
    edge: dict[str, Any] = {"stroke": "white", "strokeWidth": 0.3}
    layers: list[Any] = [
        alt.Chart(bars).mark_rect(**edge).encode(x("start_s"), y, x2="end_s:Q", y2="high_ms:Q", color=states(legend=True)),
        alt.Chart(stalls.assign(low_ms=top))
        .mark_text(align="left", baseline="top", dx=3, dy=3, fontSize=10, color=INK)
        .encode(x("start_s"), y, text="word:N"),
    ]
    if budget_ms is not None:
        layers.append(alt.Chart(pd.DataFrame({"low_ms": [budget_ms]})).mark_rule(color=INK, strokeDash=[4, 3]).encode(y))
    saves = pd.DataFrame({"at_s": list(saves_s), "low_ms": top * 0.85})
    layers.append(alt.Chart(saves).mark_point(shape="triangle-down", filled=True, size=45, color=INK).encode(x("at_s"), y))
    panels = [panel(layers, 150)]
    parts = [part for part in _PARTS if not tables[part[0]].empty]
    for name, column, words in parts:
        table = checked(tables[name], ["row", column, "start_s", "end_s"], "tick timeline")
        names, last = list(dict.fromkeys(table["row"])), name == parts[-1][0]
        rows = alt.Y("row:N", sort=names, title=words, axis=alt.Axis(grid=False, labelLimit=120))
        drawn = alt.Chart(table).mark_bar(height={"band": 0.8})
        channel = (
            states(legend=False) if column == "state" else tone("file", files, _FILES, "File that was asked for", legend=last)
        )
        panels.append(
            panel([drawn.encode(x("start_s", last=last), rows, x2="end_s:Q", color=channel)], 26 * len(names), last=last)
        )
    marks = [
        *([f"dashed: step of {budget_ms:g} ms"] if budget_ms is not None else []),
        *(["triangles: saves"] if saves_s else []),
        *(["shaded: injected stalls"] if not stalls.empty else []),
    ]
    bar = "a tick, as wide and as high as its gap" if budget_ms is not None else "a second"
    subtitle = [*notes, "; ".join([f"A bar of the first row is {bar}", *marks])]
    return finish(alt.vconcat(*panels, spacing=6).resolve_scale(color="independent").properties(title=headed(heading, subtitle)))


def late_shares(rows: pd.DataFrame, *, order: Sequence[str], notes: Sequence[str]) -> Any:
    """Draws what made ticks late, as shares of the late time, which is the time by which ticks exceed the server's step.

    The columns are group (what the time is divided by, such as cause or file), name, share, low and high (ends of its interval),
    with shares from 0 to 1. The first group is that of the causes, whose names are in `order`. A stacked bar shows them, and
    below it is a panel for each group. Groups after the first show their six largest shares.
    """
    table = checked(rows, ["group", "name", "share", "low", "high"], "late shares")
    groups = list(dict.fromkeys(table["group"]))
    causes = table[table["group"] == groups[0]]
    causes = causes.assign(place=causes["name"].map(list(order).index)).sort_values("place")
    causes = causes.assign(end=causes["share"].cumsum(), begin=causes["share"].cumsum() - causes["share"])
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1])
    scale_of_causes = alt.Scale(domain=list(order), range=[_CAUSES[name] for name in order])
    tone = alt.Color("name:N", scale=scale_of_causes, title="What made ticks late")
    panels = [
        alt.Chart(causes)
        .mark_bar(height=28)
        .encode(alt.X("begin:Q", scale=scale, title=None, axis=axis), x2="end:Q", color=tone)
        .properties(width=_WIDE - 160, height=36)
    ]
    for group in groups:
        part = table[table["group"] == group]
        part = part if group == groups[0] else part.sort_values("share", ascending=False).head(6)
        names = list(order) if group == groups[0] else list(part["name"])
        y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(grid=False))
        title = "Share of late time, 95 % interval" if group == groups[-1] else None
        base = alt.Chart(part)
        panels.append(
            alt.layer(
                base.mark_rule(strokeWidth=2.5, color=INK).encode(
                    alt.X("low:Q", scale=scale, title=title, axis=axis), y, x2="high:Q"
                ),
                base.mark_point(filled=True, size=70, opacity=1, color=INK).encode(alt.X("share:Q", scale=scale, title=title), y),
            ).properties(
                width=_WIDE - 160,
                height=22 * len(names),
                title=alt.TitleParams(f"By {group}", fontSize=12, anchor="start", offset=4, frame="bounds"),
            )
        )
    return finish(alt.vconcat(*panels, spacing=12).properties(title=headed("What explains late time", list(notes))))


def stalls_found(rows: pd.DataFrame) -> Any:
    """Draws every stall that an experiment injected, and whether blame named it as the cause of the slow tick if it should.

    The columns are at_s, kind (words for a panel, which end with what blame should do), gap_ms of the slow tick (NA if no tick
    was slow, which is drawn at 0), and right (whether blame did so).
    """
    table = checked(rows, ["at_s", "kind", "gap_ms", "right"], "stalls found")
    table["gap_ms"] = table["gap_ms"].astype("Float64").fillna(0).astype(float)
    table["right"] = table["right"].astype(bool)
    words = table.assign(verdict=table["right"].map({True: "yes", False: "no"}))
    domain = ["yes", "no"]
    tone = alt.Color("verdict:N", title="As it should be", scale=alt.Scale(domain=domain, range=[PALETTE[2], PALETTE[1]]))
    shape = alt.Shape("verdict:N", title="As it should be", scale=alt.Scale(domain=domain, range=["square", "cross"]))
    kinds = list(dict.fromkeys(table["kind"]))
    scale = alt.Scale(domain=[0, float(table["at_s"].max()) * 1.02], nice=False)
    panels = []
    for kind in kinds:
        part, last = words[words["kind"] == kind], kind == kinds[-1]
        panels.append(
            alt.Chart(part)
            .mark_point(filled=True, size=90, opacity=0.9)
            .encode(
                alt.X("at_s:Q", scale=scale, title="Time since the first tick (s)" if last else None),
                alt.Y("gap_ms:Q", title="Tick gap (ms)", scale=alt.Scale(zero=True)),
                color=tone,
                shape=shape,
            )
            .properties(
                width=_WIDE - 80,
                height=110,
                title=alt.TitleParams(f"{kind}: {part['right'].sum()} of {len(part)}", fontSize=12, anchor="start", offset=4),
            )
        )
    note = "The gap of the slow tick that each injected stall caused; a stall that made no tick slow is drawn at 0"
    return finish(alt.vconcat(*panels, spacing=14).properties(title=headed("Injected stalls, and what blame says", note)))
