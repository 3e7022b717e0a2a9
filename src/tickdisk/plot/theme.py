"""The parts that all figures share: fonts, colours, sizes, scales, checks of tables, and the writing of files."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole, write_text

FONT = "Liberation Sans, Arimo, Arial, Helvetica, sans-serif"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Colours of Okabe and Ito (2008), which can be told apart with any colour vision. Their order keeps similar colours apart."""
INK, MUTED, BAND, GRID = "#222222", "#666666", "#999999", "#E3E3E3"
WIDTH, HEIGHT = 520, 300
MOST_ROWS = 5000
"""Largest number of rows that a figure may draw."""
_CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "white",
    "padding": 8,
    "view": {"continuousWidth": WIDTH, "continuousHeight": HEIGHT, "stroke": None},
    "title": {
        "anchor": "start",
        "fontSize": 14,
        "fontWeight": 600,
        "color": INK,
        "subtitleColor": MUTED,
        "subtitleFontSize": 12,
        "subtitlePadding": 4,
        "offset": 10,
        "frame": "group",
    },
    "axis": {
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "grid": True,
        "gridColor": GRID,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "titlePadding": 8,
        "labelLimit": 320,
    },
    "legend": {
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "orient": "bottom",
        "labelLimit": 240,
        "symbolSize": 90,
        "columns": 4,
        "titleLimit": 300,
    },
    "header": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": INK, "titleColor": INK, "labelFontWeight": 600},
}


def title(text: str, subtitle: str | Sequence[str]) -> alt.TitleParams:
    """Returns the title of a chart with its subtitle, which says how to read the figure."""
    return alt.TitleParams(text=text, subtitle=[subtitle] if isinstance(subtitle, str) else list(subtitle))


def checked(table: pd.DataFrame, columns: Sequence[str], figure: str) -> pd.DataFrame:
    """Returns the columns of a prepared table that a figure draws.

    Raises TickdiskError, which names the `figure`, if a column is missing or if the table has no row or more than `MOST_ROWS`.
    """
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise TickdiskError(
            f"figure {figure}: the table has no column {', '.join(missing)}; it has {', '.join(map(str, table.columns))}"
        )
    if table.empty or len(table) > MOST_ROWS:
        raise TickdiskError(f"figure {figure} got {len(table)} rows; pass an aggregated table of 1 to {MOST_ROWS} rows")
    return table.loc[:, list(columns)].reset_index(drop=True)


def colour(
    order: Sequence[str],
    name: str = "arm",
    heading: str | None = None,
    *,
    known: Sequence[str] | None = None,
    legend: bool = True,
) -> alt.Color:
    """Returns the encoding that colours the marks of a chart by the names in the column `name`, with a legend under `heading`.

    `order` has the names in the order of the legend. A name has the colour of its place in `known`, which is `order` if None.
    """
    places = [list(order if known is None else known).index(each) for each in order]
    scale = alt.Scale(domain=list(order), range=[PALETTE[place % len(PALETTE)] for place in places])
    return alt.Color(
        f"{name}:N", scale=scale, sort=list(order), title=heading, legend=alt.Legend(symbolOpacity=1) if legend else None
    )


def decades(low: float, high: float) -> list[float]:
    """Returns the ticks of a logarithmic axis from `low` to `high`. An axis of fewer decades has more ticks in each."""
    exponents = range(-9, 13)
    steps = next((steps for span, steps in ((8, (1, 1.5, 2, 3, 4, 5, 7)), (1000, (1, 2, 5))) if high / low < span), (1,))
    return [
        float(f"{step}e{exponent}")
        for exponent in exponents
        for step in steps
        if low * 0.999 <= step * 10**exponent <= high * 1.001
    ]


def log_scale(values: "pd.Series[float]", *also: float, pad: float = 1.15) -> tuple[alt.Scale, list[float]]:
    """Returns a logarithmic scale, longer by the factor `pad` at each end, of positive values and the numbers `also`, and its
    ticks.
    """
    low, high = (
        min(float(values.min()), *also, float(values.max())) / pad,
        max(float(values.max()), *also, float(values.min())) * pad,
    )
    return alt.Scale(type="log", domain=[low, high], nice=False), decades(low, high)


def size_axis(sizes_bytes: "pd.Series[float]", *, pad: float = 1.15) -> tuple[alt.Scale, alt.Axis]:
    """Returns a logarithmic scale of sizes in bytes, and an axis that writes them as 1 B, 16 B, 256 B, 4 KiB and so on."""
    scale, _ = log_scale(sizes_bytes.clip(lower=1), pad=pad)
    low, high = scale.to_dict()["domain"]
    powers = [[base**power for power in range(40) if low <= base**power <= high] for base in (16, 4, 2)]
    ticks = next((sizes for sizes in powers if len(sizes) > 1), powers[-1] or decades(low, high))
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
    words = (
        " : ".join(f"datum.value >= {unit} ? format(datum.value / {unit}, '.3~r') + ' {name}'" for unit, name in units) + " : ''"
    )
    return scale, alt.Axis(values=ticks, labelExpr=words)


def finish(chart: alt.Chart | alt.LayerChart | alt.ConcatChart | alt.HConcatChart | alt.VConcatChart | alt.FacetChart) -> Any:
    """Returns the chart with the theme in it."""
    return chart.configure(**_CONFIG)


def to_svg(chart: "alt.TopLevelMixin") -> str:
    """Renders a chart as the text of an SVG file. The same chart gives the same bytes."""
    svg = str(vl_convert.vegalite_to_svg(chart.to_dict(format="vega-lite")))
    # The renderer numbers clip paths on from one chart to the next, so they are numbered again here.
    numbers = {name: f"clip{index}" for index, name in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', svg)))}
    return re.sub(r'(id="|url\(#)(clip\d+)', lambda match: match[1] + numbers[match[2]], svg)


def save_svg(chart: "alt.TopLevelMixin", path: Path | str) -> None:
    """Writes a chart as an SVG file, which appears only when it is whole."""
    write_text(Path(path), to_svg(chart))


def save_png(chart: "alt.TopLevelMixin", path: Path | str, scale: float = 2.0) -> None:
    """Writes a chart as a PNG file, which appears only when it is whole, with `scale` pixels for each pixel of the chart."""
    with whole(Path(path)) as partial:
        partial.write_bytes(vl_convert.vegalite_to_png(chart.to_dict(format="vega-lite"), scale=scale))
