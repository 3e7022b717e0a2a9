"""Figures of the inside of a tick: its time thread by thread, causes of late time, and the injected stalls that blame found."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, NOTEBOOK, PALETTE, WIDTH, Theme, checked, finish, row

_WIDE = WIDTH + 200
_STATES = {
    "computing": PALETTE[0],
    "storage": PALETTE[1],
    "storage behind a lock": PALETTE[4],
    "waiting for threads": PALETTE[3],
    "waiting for a core": PALETTE[5],
    "asleep": "#EDEDED",
}
_CAUSES = {
    "storage": _STATES["storage"],
    "waiting for threads": _STATES["waiting for threads"],
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
_SLOW_COLOURS = {"its own pace": "#999999"}
"""Colours of points, which are as small as they would be pale."""
_MOST_SHARES, _MOST_POINTS = 6, 3_000
_SHARES, _QUARTERS = alt.Scale(domain=[0, 1]), [0, 0.25, 0.5, 0.75, 1]


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
    has_ticks = budget_ms is not None
    parts = [part for part in _PARTS if not tables[part[0]].empty]
    files = sorted({*tables["calls"]["file"], *tables["service"]["file"]})

    def x(column: str, *, last: bool = False) -> alt.X:
        axis = alt.Axis(grid=False, labels=last, ticks=last, format="~r")
        title = f"Time since the first {'tick' if has_ticks else 'second'} (s)" if last else None
        return alt.X(f"{column}:Q", scale=alt.Scale(domain=list(span_s), nice=False), title=title, axis=axis)

    bars = checked(tables["ticks"], ["start_s", "end_s", "state", "low_ms", "high_ms"], "tick timeline")
    bars = bars.assign(**{end: bars[end].clip(*span_s) for end in ("start_s", "end_s")})
    layers = _gaps(bars, stalls, saves_s, budget_ms, x("start_s"), x("at_s"))
    panels = [alt.layer(_shaded(stalls, x("start_s")), *layers).properties(width=_WIDE, height=150)]
    for name, column, words in parts:
        table, last = checked(tables[name], ["row", column, "start_s", "end_s"], "tick timeline"), name == parts[-1][0]
        rows = list(dict.fromkeys(table["row"]))
        y = alt.Y("row:N", sort=rows, title=words, axis=alt.Axis(grid=False, labelLimit=120))
        tone = _states() if column == "state" else _tone("file", files, _FILES, "File that was asked for" if last else None)
        start = x("start_s", last=last)
        drawn = alt.Chart(table).mark_bar(height={"band": 0.8}).encode(start, y, tone, x2="end_s:Q")
        panels.append(alt.layer(_shaded(stalls, start), drawn).properties(width=_WIDE, height=26 * len(rows)))
    marks = [
        f"A bar of the first row is {'a tick, as wide and as high as its gap' if has_ticks else 'a second'}",
        *([f"dashed: step of {budget_ms:g} ms"] if has_ticks else []),
        *(["triangles: saves"] if saves_s else []),
        *(["shaded: injected stalls"] if not stalls.empty else []),
    ]
    shown = alt.vconcat(*panels, spacing=6).resolve_scale(color="independent")
    return finish(shown, heading, [*notes, "; ".join(marks)])


def tick_gaps(table: pd.DataFrame, *, budget_ms: float) -> Any:
    """Draws the gap of each tick over time, with a colour for the cause of each that was late.

    The columns are at_s (start of the tick since the first one), gap_ms, and cause (its words, or None for a tick in time). The
    step of `budget_ms` is dashed. All late ticks are drawn, and up to 3,000 of the others.
    """
    checked(table, ["at_s", "gap_ms"], "tick gaps")
    late, timely = table[table["cause"].notna()], table[table["cause"].isna()]
    timely = timely.iloc[:: max(1, -(-len(timely) // _MOST_POINTS))]
    axis = alt.Axis(format=",~r")
    x = alt.X("at_s:Q", title="Time since the first tick (s)", axis=axis)
    y = alt.Y("gap_ms:Q", title="Tick gap (ms)", scale=alt.Scale(domainMin=0), axis=axis)
    names = [name for name in _CAUSES if name in set(late["cause"])]
    tone = _tone("cause", names, [_SLOW_COLOURS.get(name, _CAUSES[name]) for name in names], "Cause of a late tick")
    layers = [
        alt.Chart(timely).mark_circle(size=10, color="#BBBBBB").encode(x, y),
        alt.Chart(late).mark_circle(size=45, opacity=1).encode(x, y, tone),
        row(gap_ms=budget_ms).mark_rule(style="limit").encode(y),
    ]
    notes = [f"n = {len(table):,} ticks, of which {len(late):,} are late; grey: ticks in time; dashed: step of {budget_ms:g} ms"]
    return finish(alt.layer(*layers).properties(width=_WIDE, height=180), "All ticks that were captured", notes)


def _shaded(stalls: pd.DataFrame, start: alt.X) -> Any:
    return alt.Chart(stalls).mark_rect(color=_STALL, opacity=0.35).encode(start, x2="end_s:Q")


def _gaps(
    bars: pd.DataFrame, stalls: pd.DataFrame, saves_s: Sequence[float], budget_ms: float | None, start: alt.X, at: alt.X
) -> list[Any]:
    """Returns the layers of the first row: ticks, names of stalls, the server's step, and saves."""
    top = float(bars["high_ms"].max()) * 1.3
    title = f"{'Tick gap' if budget_ms is not None else 'Each second'} (ms)"
    y = alt.Y("low_ms:Q", title=title, scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(format=",~r"))
    tone = _states("Where the time of a tick and of a thread went")
    named = alt.Chart(stalls.assign(low_ms=top)).mark_text(align="left", baseline="top", dx=3, dy=3, fontSize=10)
    saves = alt.Chart(pd.DataFrame({"at_s": list(saves_s), "low_ms": top * 0.85}))
    return [
        alt.Chart(bars).mark_rect(stroke="white", strokeWidth=0.3).encode(start, y, tone, x2="end_s:Q", y2="high_ms:Q"),
        named.encode(start, y, text="word:N"),
        *([row(low_ms=budget_ms).mark_rule(style="limit").encode(y)] if budget_ms is not None else []),
        saves.mark_point(shape="triangle-down", size=45, color=INK).encode(at, y),
    ]


def _states(title: str | None = None) -> alt.Color:
    return _tone("state", list(_STATES), list(_STATES.values()), title)


def _tone(column: str, names: list[str], colours: Sequence[str], title: str | None) -> alt.Color:
    """Returns the encoding that colours marks by names, with a legend if it has a title."""
    scale = alt.Scale(domain=names, range=list(colours)[: len(names)])
    legend = None if title is None else alt.Legend(columns=3, symbolType="square", symbolOpacity=1)
    return alt.Color(f"{column}:N", scale=scale, title=title, legend=legend)


def late_shares(
    rows: pd.DataFrame, *, level: float, order: Sequence[str] = (), notes: Sequence[str] = (), theme: Theme = NOTEBOOK
) -> Any:
    """Draws what made ticks late, as shares of the late time, which is the time by which ticks exceed the server's step.

    The columns are group (what the time is divided by, such as cause or file), name, share, low and high (ends of its interval of
    confidence `level`), with shares from 0 to 1. There is a panel with the six largest shares of each group. Above them, a
    stacked bar has the shares of the first group, which is that of causes, if their names are in `order`.
    """
    table = checked(rows, ["group", "name", "share", "low", "high"], "late shares")
    groups = list(dict.fromkeys(table["group"]))
    width = theme.panel_width(1, 108, of_page=False)
    panels = [_stacked(table[table["group"] == groups[0]], order).properties(width=width, height=36)] if order else []
    names = alt.Axis(grid=False, labelLimit=120 * theme.scale, minExtent=100 * theme.scale, maxExtent=100 * theme.scale)
    for group in groups:
        own, is_last = table[table["group"] == group], group == groups[-1]
        own = own.sort_values("share", ascending=False).head(_MOST_SHARES)
        title = "Share of the late time" if is_last else None
        axis = alt.Axis(format="%", values=_QUARTERS, labels=is_last, ticks=is_last)
        low, share = (alt.X(f"{end}:Q", scale=_SHARES, title=title, axis=axis) for end in ("low", "share"))
        base = alt.Chart(own).encode(alt.Y("name:N", sort=list(own["name"]), title=None, axis=names))
        layers = base.mark_rule(color=INK).encode(low, x2="high:Q") + base.mark_point(color=INK).encode(share)
        heading = alt.TitleParams(f"By {group}", frame="group")
        panels.append(layers.properties(width=width, height=11 * theme.scale * len(own), title=heading))
    words = [*notes, f"Lines: {level:.0%} intervals"]
    return finish(alt.vconcat(*panels, spacing=16 * theme.scale, bounds="flush"), "What explains late time", words, theme=theme)


def _stacked(causes: pd.DataFrame, order: Sequence[str]) -> Any:
    """Draws the shares of causes one after another, each with its colour."""
    causes = causes.assign(place=causes["name"].map(list(order).index)).sort_values("place")
    causes = causes.assign(end=causes["share"].cumsum(), begin=causes["share"].cumsum() - causes["share"])
    tone = alt.Color(
        "name:N",
        scale=alt.Scale(domain=list(order), range=[_CAUSES[name] for name in order]),
        title="What made ticks late",
    )
    begin = alt.X("begin:Q", scale=_SHARES, title=None, axis=alt.Axis(values=_QUARTERS, labels=False, ticks=False))
    return alt.Chart(causes).mark_bar(height=28).encode(begin, tone, x2="end:Q")


def stalls_found(rows: pd.DataFrame) -> Any:
    """Draws every stall that an experiment injected, and whether blame named it as the cause of the slow tick if it should.

    The columns are at_s, kind (words for a panel, which end with what blame should do), gap_ms of the slow tick (NA if no tick
    was slow, which is drawn at 0), and right (whether blame did so).
    """
    table = checked(rows, ["at_s", "kind", "gap_ms", "right"], "stalls found")
    table["gap_ms"] = table["gap_ms"].astype("Float64").fillna(0).astype(float)
    table["right"] = table["right"].astype(bool)
    table["verdict"] = table["right"].map({True: "yes", False: "no"})
    domain = ["yes", "no"]
    tone = alt.Color("verdict:N", title="As it should be", scale=alt.Scale(domain=domain, range=[PALETTE[2], PALETTE[1]]))
    shape = alt.Shape("verdict:N", title="As it should be", scale=alt.Scale(domain=domain, range=["square", "cross"]))
    scale = alt.Scale(domain=[0, float(table["at_s"].max()) * 1.02], nice=False)
    y = alt.Y("gap_ms:Q", title="Tick gap (ms)", scale=alt.Scale(zero=True))
    kinds, panels = list(dict.fromkeys(table["kind"])), []
    for kind in kinds:
        part = table[table["kind"] == kind]
        x = alt.X("at_s:Q", scale=scale, title="Time since the first tick (s)" if kind == kinds[-1] else None)
        marks = alt.Chart(part).mark_point(size=90, opacity=0.9).encode(x, y, tone, shape)
        title = f"{kind}: {part['right'].sum()} of {len(part)}"
        panels.append(marks.properties(width=_WIDE - 80, height=110, title=title))
    note = "The gap of the slow tick that each injected stall caused; a stall that made no tick slow is drawn at 0"
    return finish(alt.vconcat(*panels, spacing=14), "Injected stalls, and what blame says", note)
