"""Figures of a load over time: rates, types of data, latencies, the queue, and times between requests."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.accesses import DATA, data_names
from tickdisk.plot.theme import PALETTE, WIDTH, checked, colour, finish, log_axis, operation_colour

_WIDE, _LOW = WIDTH + 120, 140


def _time(end_s: float, title: str | None = "Time since the first request (s)") -> alt.X:
    return alt.X("at_s:Q", scale=alt.Scale(domain=[0, end_s], nice=False), title=title)


def load_rates(table: pd.DataFrame, *, n: int) -> Any:
    """Draws requests per second and megabytes per second over time, with a line for reads and one for writes.

    The columns are op (`read` or `write`), at_s, iops and mb_per_s. `n` is the number of requests.
    """
    rows = checked(table, ["op", "at_s", "iops", "mb_per_s"], "rates").astype({"op": str})
    base = alt.Chart(rows).mark_line(strokeWidth=1.2, interpolate="step").encode(operation_colour(rows["op"]))
    panels, end_s = [], float(rows["at_s"].max())
    for column, name in (("iops", "Requests/s"), ("mb_per_s", "MB/s")):
        x = _time(end_s) if column == "mb_per_s" else _time(end_s, None)
        lines = base.encode(x, alt.Y(f"{column}:Q", title=name, scale=alt.Scale(zero=True)))
        panels.append(lines.properties(width=_WIDE, height=_LOW))
    words = f"n = {n:,} reads and writes; each step is the mean of 1/300 of the time"
    return finish(alt.vconcat(*panels, spacing=10), "Requests over time", words)


def load_data(table: pd.DataFrame) -> Any:
    """Draws the bytes per second of each type of data over time, one upon another. The columns are data, at_s and mb_per_s."""
    rows = checked(table, ["data", "at_s", "mb_per_s"], "types of data").astype({"data": str})
    step_s = rows["at_s"].drop_duplicates().sort_values().diff().min()
    half = (float(step_s) if pd.notna(step_s) else 1.0) / 2
    bars = alt.Chart(rows.assign(at_s=rows["at_s"] - half, until_s=rows["at_s"] + half)).mark_bar(orient="vertical")
    y = alt.Y("mb_per_s:Q", stack="zero", title="MB/s")
    tone = colour(data_names(rows["data"]), "data", known=DATA)
    chart = bars.encode(_time(float(rows["at_s"].max())), y, tone, x2="until_s:Q")
    words = "Reads and writes together; each bar is the mean of 1/100 of the time"
    return finish(chart.properties(width=_WIDE, height=_LOW + 40), "Types of data over time", words)


def load_latencies(table: pd.DataFrame, *, n: int) -> Any:
    """Draws a heat map of latencies over time, whose colour is the number of requests on a logarithmic scale.

    The columns are at_s, until_s, ms (upper limit of the class of latencies, of which there are four for each power of 10) and
    requests. `n` is the number of all requests.
    """
    rows = checked(table, ["at_s", "until_s", "ms", "requests"], "latencies over time")
    rows = rows.assign(from_ms=rows["ms"] / 10**0.25)
    y = alt.Y("from_ms:Q", title="Latency (ms)", **log_axis(pd.concat([rows["from_ms"], rows["ms"]]), pad=1.0))
    legend = alt.Legend(orient="right", format=",~r")
    tone = alt.Color("requests:Q", scale=alt.Scale(type="log", scheme="viridis"), title="Requests", legend=legend)
    chart = alt.Chart(rows).mark_rect().encode(_time(float(rows["until_s"].max())), y, tone, x2="until_s:Q", y2="ms:Q")
    words = f"n = {n:,} reads and writes; the scale of colours is logarithmic"
    return finish(chart.properties(width=_WIDE - 90, height=240), "Latency over time", words)


def load_queue(table: pd.DataFrame) -> Any:
    """Draws the number of requests in progress over time.

    The columns are at_s, mean and most (average and largest number in each stretch of time).
    """
    rows = checked(table, ["at_s", "mean", "most"], "queue")
    long = rows.rename(columns={"most": "at most"}).melt("at_s", ["mean", "at most"], "what", "requests")
    lines = alt.Chart(long).mark_line(interpolate="step", strokeWidth=1.2)
    y = alt.Y("requests:Q", title="Requests in progress", scale=alt.Scale(zero=True))
    chart = lines.encode(_time(float(rows["at_s"].max())), y, colour(["mean", "at most"], "what"))
    words = "Mean and largest number in each of 300 stretches of time"
    return finish(chart.properties(width=_WIDE, height=_LOW + 20), "Queue length over time", words)


def load_gaps(table: pd.DataFrame) -> Any:
    """Draws the distribution of the times between two requests that follow each other.

    The columns are ms (upper limit of a class of times), requests, and share (of all times up to this limit).
    """
    rows = checked(table, ["ms", "requests", "share"], "times between requests")
    x = alt.X("ms:Q", title="Time to the next request (ms)", **log_axis(rows["ms"], pad=1.0))
    y = alt.Y("share:Q", title="Share up to x", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    chart = alt.Chart(rows).mark_line(interpolate="step-after", color=PALETTE[0]).encode(x, y)
    words = f"n = {int(rows['requests'].sum()):,} times"
    return finish(chart.properties(width=_WIDE, height=_LOW + 40), "Times between requests", words)
