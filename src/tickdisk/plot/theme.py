"""The parts that all figures share: fonts, colours, sizes, scales, checks of tables, and the writing of files."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole, write_text

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Colours of Okabe and Ito (2008), which can be told apart with any colour vision. Their order keeps similar colours apart."""
INK, MUTED, BAND, GRID = "#222222", "#666666", "#999999", "#E3E3E3"
OPERATIONS = {"read": PALETTE[0], "write": PALETTE[1], "sync": PALETTE[2]}
"""Colours of operations of storage, in the order of legends."""
WIDTH, _HEIGHT = 520, 300
"""Size in pixels of a panel of a notebook, unless a figure says otherwise."""
MOST_ROWS = 5000
"""Largest number of rows that a figure may draw."""
_SPACING = 12.0
_SHAPES = ("circle", "square", "triangle-up", "diamond")


@dataclass(frozen=True)
class Theme:
    """The look of figures at one place.

    Drawing functions that take a theme give lengths in points of the paper, and a theme says by which factor they are longer at
    its place.
    """

    font: str
    scale: float
    """Factor of fonts, lines, marks, and rows of bars."""
    height: float
    """Factor of the heights of panels."""
    column: float
    page: float
    """Widths of figures that are as wide as a column of the paper, or as its page, with the labels of their axes."""
    widest: float
    """Largest width of a panel."""
    padding: float
    has_titles: bool
    """Whether a figure has a title and a subtitle. In the paper, a caption takes their place."""

    def panel_width(self, panels: int, labels: float, *, of_page: bool = True) -> float:
        """Returns the width of each of some panels side by side, which leave `labels` points for the labels of their axes."""
        whole = self.page if of_page else self.column
        return min(self.widest, (whole - self.scale * (labels + _SPACING * (panels - 1))) / panels)

    def area(self, points: float) -> float:
        """Returns the area of a mark."""
        return points * self.scale**2


NOTEBOOK = Theme("Liberation Sans, Arimo, Arial, Helvetica, sans-serif", 1.5, 2.5, 800, 800, WIDTH, 8, has_titles=True)
PAPER = Theme("Libertinus Serif", 1.0, 1.0, 239, 499, 499, 1, has_titles=False)
"""The places of figures. In the paper, 1 pixel of a figure is 1 point, and typst brings the font along."""


def _config(theme: Theme, legend_columns: int) -> dict[str, Any]:
    scale = theme.scale
    fonts = {"labelFontSize": 7.5 * scale, "titleFontSize": 8 * scale, "titleFontWeight": "normal"}
    text = {**fonts, "labelColor": INK, "titleColor": INK, "labelLimit": 210 * scale}
    thin = {"strokeWidth": 0.7 * scale}
    return {
        "font": theme.font,
        "background": "white",
        "padding": theme.padding,
        "view": {"continuousWidth": WIDTH, "continuousHeight": _HEIGHT, "stroke": None},
        "concat": {"spacing": _SPACING * scale},
        "title": {
            "anchor": "start",
            "fontSize": 8 * scale,
            "fontWeight": 600,
            "color": INK,
            "subtitleColor": MUTED,
            "subtitleFontSize": 8 * scale,
            "subtitlePadding": 4,
            "offset": 3 * scale,
            "frame": "bounds",
        },
        "axis": {
            **text,
            "grid": True,
            "gridColor": GRID,
            "gridWidth": 0.5 * scale,
            "domainColor": MUTED,
            "tickColor": MUTED,
            "tickSize": 3 * scale,
            "titlePadding": 3 * scale,
            "labelPadding": 2 * scale,
        },
        "legend": {
            **text,
            "orient": "bottom",
            "symbolSize": theme.area(30),
            "offset": 4 * scale,
            "padding": 0,
            "rowPadding": scale,
            "columnPadding": 6 * scale,
            "columns": legend_columns,
            "titleLimit": 200 * scale,
        },
        "text": {"fontSize": 7.5 * scale, "color": INK},
        "point": {"filled": True, "size": theme.area(26), "opacity": 1},
        # The widths of lines and rules stand here, because under their own names they would win over the other styles.
        "style": {
            "line": {"strokeWidth": 1.2 * scale},
            "rule": {"strokeWidth": 1.6 * scale},
            "limit": {**thin, "color": INK, "strokeDash": [3 * scale, 2 * scale]},
            "one": {**thin, "color": MUTED},
            "margin": {"color": BAND, "opacity": 0.22},
        },
    }


def finish(
    chart: Any, heading: str = "", words: str | Sequence[str] = (), *, theme: Theme = NOTEBOOK, legend_columns: int = 4
) -> Any:
    """Returns the chart with the theme in it, and with a heading and with words on how to read it if the theme has titles.

    A small `legend_columns` keeps the legend within the figure.
    """
    if theme.has_titles:
        subtitle = [words] if isinstance(words, str) else list(words)
        chart = chart.properties(title=alt.TitleParams(heading, subtitle=subtitle, fontSize=14, offset=10, frame="group"))
    return chart.configure(**_config(theme, legend_columns))


def capital(text: str) -> str:
    """Returns a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def row(**values: float) -> alt.Chart:
    """Returns a chart of a single row of numbers, such as a limit that is drawn across a panel."""
    return alt.Chart(pd.DataFrame({name: [value] for name, value in values.items()}))


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


def operation_colour(values: "pd.Series[str]") -> alt.Color:
    """Returns the encoding that colours marks by the operation in the column `op`, with a legend of those in `values`."""
    own = [op for op in OPERATIONS if op in set(values)]
    return alt.Color("op:N", title=None, scale=alt.Scale(domain=own, range=[OPERATIONS[op] for op in own]))


def colour_and_shape(names: Sequence[str], column: str) -> tuple[alt.Color, alt.Shape]:
    """Returns the encodings that give each of at most four names its colour and its shape."""
    tone, form = (alt.Scale(domain=list(names), range=list(kinds[: len(names)])) for kinds in (PALETTE, _SHAPES))
    known: dict[str, Any] = {"shorthand": f"{column}:N", "title": None, "legend": alt.Legend(symbolOpacity=1)}
    return alt.Color(**known, scale=tone), alt.Shape(**known, scale=form)


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


def log_axis(values: "pd.Series[float]", *also: float, pad: float = 1.15, form: str = ",~r") -> dict[str, Any]:
    """Returns the scale and the axis of a channel of positive values and the numbers `also`, as arguments of the channel.

    The scale is logarithmic, and longer by the factor `pad` at each end. `form` is the format of the labels. Raises TickdiskError
    if there is no value.
    """
    ends = [*values.dropna(), *also]
    if not ends:
        raise TickdiskError("an axis of the figure has no value; check that the run observed what the figure is about")
    low, high = float(min(ends)) / pad, float(max(ends)) * pad
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=decades(low, high), format=form),
    }


def spread_axis(values: Sequence[float], most: float) -> dict[str, Any]:
    """Returns the scale and the axis of a channel, logarithmic if the values are positive and span more than a factor `most`."""
    low, high = min(values), max(values)
    if low > 0 and high / low > most:
        return log_axis(pd.Series(values))
    pad = 0.0 if high > low else 1.0
    return {
        "scale": alt.Scale(domain=[low - pad, high + pad], nice=True, zero=False),
        "axis": alt.Axis(format=",~r", tickCount=5),
    }


def size_axis(sizes_bytes: "pd.Series[float]", *, pad: float = 1.15) -> dict[str, Any]:
    """Returns the logarithmic scale and the axis of sizes in bytes, which are written as 1 B, 16 B, 256 B, 4 KiB and so on."""
    scale = log_axis(sizes_bytes.clip(lower=1), pad=pad)["scale"]
    low, high = scale["domain"]
    powers = [[base**power for power in range(40) if low <= base**power <= high] for base in (16, 4, 2)]
    ticks = next((sizes for sizes in powers if len(sizes) > 1), powers[-1] or decades(low, high))
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
    words = (
        " : ".join(f"datum.value >= {unit} ? format(datum.value / {unit}, '.3~r') + ' {name}'" for unit, name in units) + " : ''"
    )
    return {"scale": scale, "axis": alt.Axis(values=ticks, labelExpr=words)}


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
