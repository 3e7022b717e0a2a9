"""Figure of the effects of storage latency on several servers, with one panel for each server."""

from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.paper.place import PAGE, finish, panel_title
from tickdisk.plot.theme import BAND, MUTED, checked, log_scale

_LABELS = 44
_SPACING = 12
_HEIGHT = 120
_SHAPES = ("circle", "square", "triangle-up", "diamond")
_COLOURS = ("#0b5cad", "#8a6100", "#b3400c", "#1a7f37")
_APART = 1.06
"""Factor between the latencies at which the points of two metrics are drawn, so that their intervals can be told apart."""


def server_effects(rows: pd.DataFrame, *, margin: float) -> Any:
    """Draws the ratio of each metric to the baseline over the latency, with a panel for each server, at the width of the page.

    The columns are server, metric (at most four), latency_ms, ratio, low and high (ends of its interval). NaN is not drawn. The
    margin of equivalence is shaded.
    """
    table = checked(rows, ["server", "metric", "latency_ms", "ratio", "low", "high"], "effects of servers").dropna(
        subset=["ratio"]
    )
    servers, metrics = list(dict.fromkeys(table["server"])), list(dict.fromkeys(table["metric"]))
    middle = (len(metrics) - 1) / 2
    table["at_ms"] = [
        latency * _APART ** (metrics.index(metric) - middle)
        for latency, metric in zip(table["latency_ms"], table["metric"], strict=True)
    ]
    most = float(table["ratio"].max()) if len(table) else 2.0
    ends = pd.concat([table["ratio"], table["low"], table["high"]]).clip(1 / most / 2, most * 2)
    scale, ticks = log_scale(ends if len(ends) else pd.Series([0.5, 2.0]), 1 / (1 + margin), 1 + margin, pad=1.1)
    low, high = scale.to_dict()["domain"]
    table = table.assign(low=table["low"].clip(low, high), high=table["high"].clip(low, high))
    width = (PAGE - _LABELS - _SPACING * (len(servers) - 1)) / max(len(servers), 1)
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high] if high / low > 4 else ticks  # noqa: PLR2004
    panels = [
        _panel(table[table["server"] == server], server, metrics, margin, scale, ticks, width, is_first=server == servers[0])
        for server in servers
    ]
    return finish(alt.hconcat(*panels, spacing=_SPACING))


def _panel(
    own: pd.DataFrame,
    server: str,
    metrics: list[str],
    margin: float,
    scale: alt.Scale,
    ticks: list[float],
    width: float,
    *,
    is_first: bool,
) -> Any:
    axis = alt.Axis(values=ticks, format=",~r", labels=is_first, ticks=is_first)
    latency = alt.Scale(type="log", domain=[0.7, 16])
    x = alt.X("at_ms:Q", scale=latency, title="Realised latency (ms, log)", axis=alt.Axis(values=[1, 2, 5, 10]))

    def y(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", scale=scale, title="Ratio to the baseline (log)" if is_first else None, axis=axis)

    legend = alt.Legend(title=None, orient="bottom", columns=4, symbolStrokeWidth=1)
    tone, shape = (
        channel("metric:N", scale=alt.Scale(domain=metrics, range=list(values[: len(metrics)])), legend=legend)
        for channel, values in ((alt.Color, _COLOURS), (alt.Shape, _SHAPES))
    )
    band = pd.DataFrame({"low": [1 / (1 + margin)], "high": [1 + margin]})
    layers = [
        alt.Chart(band).mark_rect(color=BAND, opacity=0.22).encode(y("low"), y2="high:Q"),
        alt.Chart(pd.DataFrame({"ratio": [1]})).mark_rule(color=MUTED, strokeWidth=0.7).encode(y("ratio")),
        alt.Chart(own.dropna(subset=["low"])).mark_rule(strokeWidth=1.2).encode(x, y("low"), y2="high:Q", color=tone),
        alt.Chart(own).mark_line(strokeWidth=0.8, opacity=0.6).encode(x, y("ratio"), color=tone),
        alt.Chart(own).mark_point(filled=True, size=24, opacity=1).encode(x, y("ratio"), color=tone, shape=shape),
    ]
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, title=panel_title(server))
