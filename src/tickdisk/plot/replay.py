"""Figures of a replay: how late requests were over time, and how long they took."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.plot.distribution import LEAST_US, counted
from tickdisk.plot.theme import WIDTH, checked, colour, finish, log_axis
from tickdisk.stats import estimate

_BINS = 150


def lateness_over_time(table: pd.DataFrame, *, order: Sequence[str], quantity: str, heading: str) -> Any:
    """Draws the longest and the median lateness in each of 150 stretches of time, on a logarithmic axis.

    The table has the columns replay, at_s (due time from the start), and us, and any length. `quantity` names the lateness in the
    column us, such as the time lost.
    """
    edges = np.linspace(0, float(table["at_s"].max()) * (1 + 1e-9) or 1.0, _BINS + 1)
    stretch = np.clip(np.digitize(table["at_s"], edges) - 1, 0, _BINS - 1)
    grouped = table.assign(us=table["us"].clip(lower=LEAST_US), stretch=stretch).groupby(["replay", "stretch"], observed=True)[
        "us"
    ]
    points = grouped.agg(["median", "max"]).reset_index().assign(at_s=lambda rows: edges[rows["stretch"]])
    points = checked(points, ["replay", "at_s", "median", "max"], quantity)
    at, name = log_axis(pd.concat([points["max"], points["median"]]), 10.0, form=",~s"), f"{quantity} (µs)"
    x = alt.X("at_s:Q", title="Due time (s)", scale=alt.Scale(domain=[0, float(edges[-1])], nice=False))
    base = alt.Chart(points).encode(x, color=colour(order, "replay", "Replay"))
    lines = base.mark_line(opacity=0.9).encode(alt.Y("max:Q", title=name, **at))
    dots = base.mark_circle(size=14).encode(alt.Y("median:Q", title=name, **at))
    sizes = counted(table["replay"].value_counts().tolist())
    note = f"Line: longest of each of {_BINS} stretches of time, dots: median; {sizes} requests a replay"
    return finish((lines + dots).properties(width=WIDTH + 160), heading, note)


def service_times(parts: Mapping[str, Mapping[str, NDArray[np.float64]]], *, order: Sequence[str]) -> Any:
    """Draws the service times of each operation, as captured and as replayed, on a logarithmic axis.

    `parts` has service times in us by operation, and within each operation by where the requests were made (captured, or a
    replay), whose names are in `order`. A line goes from p5 to p95, with a dot at the median. A quantile for which a sample is
    too small is not drawn.
    """
    rows = []
    for op, lines in parts.items():
        for where, values in lines.items():
            found = {name: estimate(values, q) for name, q in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95))}
            known = {name: None if value is None else max(value, 0.1) for name, value in found.items()}
            rows.append({"op": f"{op} (n = {len(values):,})", "where": where, **known})
    ends = ["p05", "p50", "p95"]
    table = checked(pd.DataFrame(rows).astype(dict.fromkeys(ends, float)), ["op", "where", *ends], "service")
    axis = log_axis(pd.concat([table[end] for end in ends]), form=",~s")
    base = alt.Chart(table).encode(
        alt.Y("op:N", sort=list(dict.fromkeys(table["op"])), title=None),
        yOffset=alt.YOffset("where:N", sort=list(order)),
        color=colour(order, "where", "Made"),
    )
    lines = base.transform_filter("isValid(datum.p05) && isValid(datum.p95)").mark_rule()
    lines = lines.encode(alt.X("p05:Q", title="Service time (µs)", **axis), x2="p95:Q")
    dots = base.mark_point().encode(alt.X("p50:Q", title="Service time (µs)", **axis))
    words = "Median, p5 to p95 of each operation (where the sample reaches them)"
    return finish((lines + dots).properties(height={"step": 14}), "Service times, captured and replayed", words)
