"""Figures of the calibration: the latency and bandwidth that each emulated device should have, and those that fio measured."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import MUTED, checked, colour, finish, log_axis, row

_STATES = {False: "within reach", True: "floor-limited"}


def calibration_latency(table: pd.DataFrame, *, n: str) -> Any:
    """Draws realised over nominal latency of devices at queue depth 1, on two logarithmic axes.

    A dot is the median of a device and operation, with marks at its p99 and p99.9. The columns are device, op, nominal_us (above
    0), p50_us, p99_us, p999_us (NaN if not estimable), and floor_limited (whether this machine is too slow for the device). `n`
    says in words on how many requests a point rests.
    """
    points = checked(table, ["device", "op", "nominal_us", "p50_us", "p99_us", "p999_us", "floor_limited"], "calibration latency")
    ops = sorted(points["op"].unique())
    # Operations that share a nominal latency are drawn side by side, so that they can be told apart.
    offset = {op: 1.22 ** (index - (len(ops) - 1) / 2) for index, op in enumerate(ops)}
    points = points.assign(at_us=points["nominal_us"] * points["op"].map(offset), state=points["floor_limited"].map(_STATES))
    points["top_us"] = points["p999_us"].fillna(points["p99_us"]).fillna(points["p50_us"])
    known = points[["nominal_us", "top_us", "p50_us"]]
    top_us = 4 * float(known.max().max())
    axis = log_axis(pd.Series([float(known.min().min()) / 1.4, top_us]), pad=1.0, form="~s")
    x_axis = log_axis(points["at_us"], pad=1.6, form="~s")
    x = alt.X("at_us:Q", title="Nominal latency (µs)", **x_axis)
    y = alt.Y("p50_us:Q", title="Realised latency (µs)", **axis)
    tone = colour(ops, "op")
    shape = alt.Shape("state:N", title=None, scale=alt.Scale(domain=list(_STATES.values()), range=["circle", "triangle-up"]))
    base = alt.Chart(points).encode(x, y, tone)
    ends = pd.DataFrame({"at_us": x_axis["scale"]["domain"], "p50_us": x_axis["scale"]["domain"]})
    ticks = [
        alt.Chart(points.dropna(subset=[column]))
        .mark_tick(orient="horizontal", size=size, thickness=2)
        .encode(x, alt.Y(f"{column}:Q", title="Realised latency (µs)", **axis), tone)
        for column, size in (("p99_us", 10), ("p999_us", 16))
    ]
    layers = [
        alt.Chart(ends).mark_line(style="limit", color=MUTED, clip=True).encode(x, y),
        *_names(points, top_us, x, y),
        base.mark_rule(strokeWidth=1, opacity=0.6).encode(y2="top_us:Q"),
        *ticks,
        base.mark_point(size=80).encode(shape),
    ]
    words = [
        f"Queue depth 1; {n}",
        "Dot: median, short tick: p99, long tick: p99.9 (where estimable); dashed: realised = nominal",
    ]
    return finish(alt.layer(*layers), "Realised over nominal latency", words)


def _names(points: pd.DataFrame, top_us: float, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Writes the names of devices above all points, alternately on two lines, so that neighbours do not overlap."""
    names = points.groupby("nominal_us", as_index=False).agg(device=("device", lambda labels: " / ".join(dict.fromkeys(labels))))
    names = names.assign(at_us=names["nominal_us"], p50_us=top_us)
    return [
        alt.Chart(names.iloc[line::2]).mark_text(baseline="top", color=MUTED, dy=2 + 14 * line).encode(x, y, text="device:N")
        for line in (0, 1)
        if len(names) > line
    ]


def iops_over_depth(table: pd.DataFrame, *, order: Sequence[str], n: str) -> Any:
    """Draws the requests per second of each device over queue depth, beside those that the model allows.

    The columns are device, depth, iops, and expected_iops (queue depth / nominal latency, at most what the nominal bandwidth
    allows). `n` says in words on how many requests a point rests.
    """
    points = checked(table, ["device", "depth", "iops", "expected_iops"], "IOPS over queue depth")
    axis = log_axis(pd.concat([points["iops"], points["expected_iops"]]), pad=1.3, form="~s")
    depths = sorted(points["depth"].unique().tolist())
    scale = alt.Scale(type="log", base=2, domain=[depths[0] / 1.2, depths[-1] * 1.2], nice=False)
    x = alt.X("depth:Q", scale=scale, title="Queue depth (requests in flight)", axis=alt.Axis(values=depths, format="d"))
    expected, realised = (
        alt.Y(f"{column}:Q", title="IOPS (4 KiB requests per second)", **axis) for column in ("expected_iops", "iops")
    )
    base = alt.Chart(points).encode(x, color=colour(order, "device"))
    lines = base.mark_line(strokeDash=[4, 3], opacity=0.8).encode(expected) + base.mark_line(point=True).encode(realised)
    words = ["Solid: realised; dashed: queue depth / nominal latency, up to the nominal bandwidth", n]
    return finish(lines, "IOPS over queue depth", words)


def bandwidth(table: pd.DataFrame, *, n: str) -> Any:
    """Draws the realised bandwidth of devices as a share of the nominal bandwidth.

    The columns are device, op, nominal_bytes_per_s, realised_bytes_per_s, and floor_limited (whether this machine is too slow for
    the device). `n` says in words on how many requests a point rests.
    """
    points = checked(table, ["device", "op", "nominal_bytes_per_s", "realised_bytes_per_s", "floor_limited"], "bandwidth")
    points = points.assign(share=points["realised_bytes_per_s"] / points["nominal_bytes_per_s"])
    points["amount"] = [
        f"{realised / 1e6:,.0f} of {nominal / 1e6:,.0f} MB/s"
        for realised, nominal in zip(points["realised_bytes_per_s"], points["nominal_bytes_per_s"], strict=True)
    ]
    order, ops = list(dict.fromkeys(points["device"])), sorted(points["op"].unique())
    points["amount"] = points["amount"].where(~points["floor_limited"], points["amount"] + ", floor-limited")
    top = max(1.0, float(points["share"].max()))
    x = alt.X(
        "share:Q",
        # The axis leaves room for the words on the right.
        scale=alt.Scale(domain=[0, 1.6 * top], nice=False),
        title="Realised / nominal bandwidth (%)",
        axis=alt.Axis(format="%", values=[share / 5 for share in range(int(5 * top) + 1)]),
    )
    base = alt.Chart(points).encode(alt.Y("device:N", sort=order, title=None), yOffset=alt.YOffset("op:N", sort=ops))
    shown = alt.layer(
        base.mark_bar(opacity=0.85).encode(x, color=colour(ops, "op")),
        row(share=1.0).mark_rule(style="limit", color=MUTED).encode(x),
        base.mark_text(align="left", baseline="middle").encode(alt.X(datum=1.04 * top), text="amount:N"),
    ).properties(height={"step": 20})
    return finish(shown, "Realised over nominal bandwidth", f"1 MiB requests; dashed: nominal; {n}")
