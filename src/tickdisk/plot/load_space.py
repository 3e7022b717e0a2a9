"""Figures of where a load reads and writes, in which sizes, and in which files."""

from math import isnan
from typing import Any

import altair as alt
import pandas as pd
import squarify

from tickdisk.plot.theme import BAND, PALETTE, WIDTH, checked, finish, log_axis, operation_colour, size_axis

_WIDE = WIDTH + 120
_TREE = (640.0, 360.0)
_MOST_TILES = 400
_MIB = 1 << 20


def load_sizes(table: pd.DataFrame) -> Any:
    """Draws the distributions of the sizes of reads and of writes.

    The columns are op (`read` or `write`), bytes, requests, and share (of the requests of this op up to this size).
    """
    rows = checked(table, ["op", "bytes", "requests", "share"], "sizes")
    chart = size_curves(rows, size_axis(rows["bytes"], pad=1.2), "Size of the request", "Share up to x")
    counts = rows.groupby("op", observed=True)["requests"].sum()
    words = ", ".join(f"n = {count:,} {op}s" for op, count in counts.items())
    return finish(chart.properties(width=_WIDE, height=220), "Sizes of requests", words)


def size_curves(table: pd.DataFrame, axis: dict[str, Any], x_title: str, y_title: str | None) -> Any:
    """Draws the share of requests up to each size, for reads and for writes, on an axis of sizes."""
    rows = table.assign(bytes=table["bytes"].clip(lower=1), op=table["op"].astype(str))
    x = alt.X("bytes:Q", title=x_title, **axis)
    y = alt.Y("share:Q", title=y_title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=4))
    return alt.Chart(rows).mark_line(interpolate="step-after").encode(x, y, operation_colour(rows["op"]))


def load_areas(over_space: pd.DataFrame, concentration: pd.DataFrame, *, places: str, hot_ratio: float) -> Any:
    """Draws how requests are spread over the address space, and how many of them go to the most accessed areas.

    `over_space` has the columns mib (place in the address space) and requests. `concentration` has areas (share of the touched
    areas of 1 MiB, the most accessed first) and requests (share of all requests). `places` is a word for what lies in the address
    space, such as `files`. `hot_ratio` is the number of requests of an area among the tenth with the most, over those of another
    area. It may be NaN.
    """
    spread = checked(over_space, ["mib", "requests"], "areas")
    gathered = checked(concentration, ["areas", "requests"], "concentration")
    place = alt.X("mib:Q", title=f"Place in the {places}, laid end to end (MiB)", scale=alt.Scale(nice=False, zero=True))
    count = alt.Y("requests:Q", title="Requests", axis=alt.Axis(tickCount=5))
    left = alt.Chart(spread).mark_area(interpolate="step", color=PALETTE[0], opacity=0.8).encode(place, count)
    share = alt.Axis(format="%")
    x = alt.X("areas:Q", title="Areas, the most accessed first", axis=share)
    y = alt.Y("requests:Q", title="Requests to them", axis=share)
    even = alt.Chart(pd.DataFrame({"areas": [0, 1], "requests": [0, 1]})).mark_line(style="limit", color=BAND)
    right = even.encode(x, y) + alt.Chart(gathered).mark_line(color=PALETTE[0]).encode(x, y)
    panels = (left.properties(width=340, height=220), right.properties(width=220, height=220))
    hot = "" if isnan(hot_ratio) else f"; the hot tenth has {hot_ratio:.3g} times as many requests each as the others"
    words = [f"Areas of 1 MiB{hot}", "Dashed: all areas are accessed alike"]
    return finish(alt.hconcat(*panels, spacing=36), "Where the requests go", words)


def load_reuse(hits: pd.DataFrame, working_set: pd.DataFrame, *, sample: int, level: float) -> Any:
    """Draws the hits of a cache over its size, and the working set over time if there are times.

    `hits` has the columns mib (size of the cache), share (of accesses that hit), low and high (ends of its interval of confidence
    `level`). `working_set` has at_s, mib (different pages in a stretch of time), low and high, and may be empty. One of `sample`
    pages was looked at.
    """
    rows = checked(hits, ["mib", "share", "low", "high"], "hits of a cache")
    axis: dict[str, Any] = {"axis": alt.Axis(format="%"), "scale": alt.Scale(domain=[0, 1])}
    low, share = (alt.Y(f"{column}:Q", title="Accesses that hit", **axis) for column in ("low", "share"))
    base = alt.Chart(rows).encode(alt.X("mib:Q", title="Size of the cache (MiB)", **log_axis(rows["mib"], pad=1.0)))
    curve = base.mark_area(opacity=0.25, color=PALETTE[0]).encode(low, y2="high:Q")
    panels: list[Any] = [(curve + base.mark_line(color=PALETTE[0]).encode(share)).properties(width=300, height=220)]
    if len(working_set):
        sets = checked(working_set, ["at_s", "mib", "low", "high"], "working set")
        base = alt.Chart(sets).encode(alt.X("at_s:Q", title="Time since the first request (s)", scale=alt.Scale(nice=False)))
        low, size = (alt.Y(f"{column}:Q", title="Different pages per 1/100 of the time (MiB)") for column in ("low", "mib"))
        band = base.mark_area(opacity=0.25, color=PALETTE[2], interpolate="step").encode(low, y2="high:Q")
        line = base.mark_line(color=PALETTE[2], interpolate="step").encode(size)
        panels.append((band + line).properties(width=260, height=220))
    counted = "All pages of 4 KiB" if sample == 1 else f"A random page of {sample:,}; shaded: {level:.0%} intervals"
    words = f"{counted}; the cache drops the page that was not accessed for the longest time"
    return finish(alt.hconcat(*panels, spacing=36), "How soon pages are accessed again", words)


def load_touched(table: pd.DataFrame, *, places: str) -> Any:
    """Draws how much of each of the most accessed files is touched, or how many bytes where the sizes are not known.

    The columns are place, touched_bytes, size_bytes and share_touched. The last two may be NaN. `places` is a word for the
    places, such as `files`.
    """
    rows = checked(table, ["place", "touched_bytes", "size_bytes", "share_touched"], "touched share")
    rows = rows.assign(name=_short(rows["place"]), mib=rows["touched_bytes"] / _MIB)
    words = "Bytes that are read or written at least once"
    if rows["share_touched"].notna().any():
        share: dict[str, Any] = {"axis": alt.Axis(format="%"), "scale": alt.Scale(domain=[0, 1])}
        x = alt.X("share_touched:Q", title="Touched share of the file", **share)
        rows, words = rows.dropna(subset=["share_touched"]), f"{words}, over the size of the file"
    else:
        x, words = alt.X("mib:Q", title="Touched (MiB)"), f"{words}; the sizes of the {places} are not in the trace"
    ranked = rows.sort_values("share_touched" if rows["share_touched"].notna().any() else "mib", ascending=False)
    y = alt.Y("name:N", sort=list(ranked["name"]), title=None)
    chart = alt.Chart(ranked).mark_bar(color=PALETTE[0]).encode(x, y).properties(width=380, height={"step": 15})
    return finish(chart, f"The most accessed {places}", words)


def _short(names: "pd.Series[str]", length: int = 44) -> "pd.Series[str]":
    """Returns names of at most `length` characters, of which the end is kept. Names that become alike are numbered."""
    # A picture may not have control characters.
    names = names.str.replace(r"[\x00-\x1f\x7f]", "\ufffd", regex=True)
    short = names.where(names.str.len() <= length, "…" + names.str[-length + 1 :])
    again = short.groupby(short).cumcount()
    return short.where(again == 0, short + " (" + (again + 1).astype(str) + ")")


def load_treemap(table: pd.DataFrame, *, packing: str) -> Any:
    """Draws all files as tiles, whose area is the size of the file and whose colour is its depth in folders.

    The columns are file, bytes and depth. Beyond 400 files, the smallest of each depth are drawn as one tile. `packing` says in
    words how data are packed into files.
    """
    files = table[table["bytes"] > 0].sort_values("bytes", ascending=False)
    large, small = files.iloc[:_MOST_TILES], files.iloc[_MOST_TILES:]
    rest = small.groupby("depth", as_index=False)["bytes"].sum().assign(file="smaller files")
    tiles = pd.concat([large, rest], ignore_index=True).sort_values("bytes", ascending=False, ignore_index=True)
    sizes = squarify.normalize_sizes(tiles["bytes"].tolist(), *_TREE)
    placed = pd.DataFrame(squarify.squarify(sizes, 0, 0, *_TREE))
    rows = tiles.assign(x=placed["x"], y=placed["y"], right=placed["x"] + placed["dx"], top=placed["y"] + placed["dy"])
    rows = checked(rows, ["x", "y", "right", "top", "depth"], "files")
    hidden: dict[str, Any] = {"axis": None, "scale": alt.Scale(nice=False, zero=True)}
    tone = alt.Color("depth:O", title="Folders above the file", scale=alt.Scale(scheme="viridis"))
    chart = alt.Chart(rows).mark_rect(stroke="white", strokeWidth=0.7)
    chart = chart.encode(alt.X("x:Q", **hidden), alt.Y("y:Q", **hidden), tone, x2="right:Q", y2="top:Q")
    words = f"n = {len(table):,} files of {files['bytes'].sum() / _MIB:,.1f} MiB; packing: {packing}; area: size of the file"
    return finish(chart.properties(width=_TREE[0], height=_TREE[1]), "Files by size and depth", words)
