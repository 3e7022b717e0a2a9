"""Figures of the calibration: the latency and bandwidth that each emulated device should have, and those that fio measured."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import INK, MUTED, checked, colour, finish, log_scale, title

_STATE = "within reach"


def _states(floor_limited: pd.Series) -> pd.Series:
    return floor_limited.map({True: "floor-limited", False: _STATE})


def _state_shape() -> alt.Shape:
    return alt.Shape(
        "state:N",
        title=None,
        scale=alt.Scale(domain=[_STATE, "floor-limited"], range=["circle", "triangle-up"]),
        legend=alt.Legend(),
    )


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
    points = points.assign(at_us=points["nominal_us"] * points["op"].map(offset), state=_states(points["floor_limited"]))
    points["top_us"] = points["p999_us"].fillna(points["p99_us"])
    points["top_us"] = points["top_us"].fillna(points["p50_us"])
    low, high = points[["nominal_us", "p50_us"]].min().min(), points[["nominal_us", "top_us", "p50_us"]].max().max()
    x_scale, x_ticks = log_scale(points["at_us"], pad=1.6)
    y_scale, y_ticks = log_scale(pd.Series([low / 1.4, high * 4]), pad=1.0)
    x = alt.X("at_us:Q", scale=x_scale, title="Nominal latency (µs)", axis=alt.Axis(values=x_ticks, format="~s"))
    y_title = "Realised latency (µs)"
    tone = colour(ops, "op")
    base = alt.Chart(points)
    ends = pd.DataFrame({"at_us": x_scale.to_dict()["domain"], "p50_us": x_scale.to_dict()["domain"]})
    y = alt.Y("p50_us:Q", scale=y_scale, title=y_title, axis=alt.Axis(values=y_ticks, format="~s"))
    identity = alt.Chart(ends).mark_line(color=MUTED, strokeDash=[4, 3], clip=True).encode(x, y)
    stem = base.mark_rule(opacity=0.6).encode(x, y, y2="top_us:Q", color=tone)
    ticks = [
        base.transform_filter(f"isValid(datum.{column})")
        .mark_tick(orient="horizontal", size=size, thickness=2)
        .encode(x, alt.Y(f"{column}:Q", scale=y_scale, title=y_title), color=tone)
        for column, size in (("p99_us", 10), ("p999_us", 16))
    ]
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(x, y, color=tone, shape=_state_shape())
    names = points.groupby("nominal_us", as_index=False).agg(device=("device", lambda labels: " / ".join(dict.fromkeys(labels))))
    # The names of devices stand above all points, alternately on two lines, so that neighbours do not overlap.
    names = names.assign(at_us=names["nominal_us"], p50_us=y_scale.to_dict()["domain"][1])
    labels = [
        alt.Chart(names.iloc[line::2])
        .mark_text(baseline="top", fontSize=11, color=MUTED, dy=2 + 14 * line)
        .encode(x, y, text="device:N")
        for line in (0, 1)
        if len(names) > line
    ]
    return finish(
        alt.layer(identity, *labels, stem, *ticks, dots).properties(
            title=title(
                "Realised over nominal latency",
                [
                    f"Queue depth 1; {n}",
                    "Dot: median, short tick: p99, long tick: p99.9 (where estimable); dashed: realised = nominal",
                ],
            )
        )
    )


def iops_over_depth(table: pd.DataFrame, *, order: Sequence[str], n: str) -> Any:
    """Draws the requests per second of each device over queue depth, beside those that the model allows.

    The columns are device, depth, iops, and expected_iops (queue depth / nominal latency, at most what the nominal bandwidth
    allows). `n` says in words on how many requests a point rests.
    """
    points = checked(table, ["device", "depth", "iops", "expected_iops"], "IOPS over queue depth")
    y_scale, y_ticks = log_scale(pd.concat([points["iops"], points["expected_iops"]]), pad=1.3)
    depths = sorted(points["depth"].unique().tolist())
    x = alt.X(
        "depth:Q",
        scale=alt.Scale(type="log", base=2, domain=[depths[0] / 1.2, depths[-1] * 1.2], nice=False),
        title="Queue depth (requests in flight)",
        axis=alt.Axis(values=depths, format="d"),
    )
    base, tone = alt.Chart(points), colour(order, "device")
    axis = alt.Axis(values=y_ticks, format="~s")
    expected = base.mark_line(strokeDash=[4, 3], opacity=0.8).encode(
        x, alt.Y("expected_iops:Q", scale=y_scale, title="IOPS (4 KiB requests per second)", axis=axis), color=tone
    )
    realised = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=60)).encode(
        x, alt.Y("iops:Q", scale=y_scale), color=tone
    )
    return finish(
        alt.layer(expected, realised).properties(
            title=title(
                "IOPS over queue depth",
                ["Solid: realised; dashed: queue depth / nominal latency, up to the nominal bandwidth", n],
            )
        )
    )


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
    rows: dict[str, Any] = {"y": alt.Y("device:N", sort=order, title=None), "yOffset": alt.YOffset("op:N", sort=ops)}
    base = alt.Chart(points)
    one = alt.Chart(pd.DataFrame({"share": [1.0]})).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x)
    bars = base.mark_bar(opacity=0.85).encode(x, **rows, color=colour(ops, "op"))
    words = alt.X(datum=1.04 * top)
    amounts = base.mark_text(align="left", baseline="middle", fontSize=11, color=INK).encode(words, **rows, text="amount:N")
    return finish(
        alt.layer(bars, one, amounts).properties(
            height={"step": 20}, title=title("Realised over nominal bandwidth", [f"1 MiB requests; dashed: nominal; {n}"])
        )
    )
