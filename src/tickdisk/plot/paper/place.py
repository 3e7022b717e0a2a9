"""The places of figures in the paper, and the theme that they share.

A length of 1 pixel in a figure is 1 point in the paper.
"""

from typing import Any, Literal

import altair as alt

from tickdisk.plot.theme import GRID, INK, MUTED

COLUMN, PAGE = 239, 499
"""Widths in points of a column, and of the page, which has both columns and the gutter."""
_FONT = "Libertinus Serif"
"""Font of the paper, which typst brings along."""
_SMALL, _USUAL = 7.5, 8.0


def panel_title(text: str, *, frame: Literal["bounds", "group"] = "bounds") -> alt.TitleParams:
    """Returns the heading of one panel, above the axis labels, or above the plot itself if `frame` is "group"."""
    return alt.TitleParams(text[:1].upper() + text[1:], fontSize=_USUAL, fontWeight=600, anchor="start", offset=3, frame=frame)


def finish(chart: Any, *, legend_columns: int = 4) -> Any:
    """Returns the chart with the paper's theme in it. A small `legend_columns` keeps the legend within the figure."""
    text = {"labelFontSize": _SMALL, "titleFontSize": _USUAL, "titleFontWeight": "normal", "labelColor": INK, "titleColor": INK}
    return chart.configure(
        font=_FONT,
        background="white",
        padding=1,
        view={"stroke": None},
        title={"fontSize": _USUAL, "color": INK},
        axis={
            **text,
            "grid": True,
            "gridColor": GRID,
            "gridWidth": 0.5,
            "domainColor": MUTED,
            "tickColor": MUTED,
            "tickSize": 3,
            "titlePadding": 3,
            "labelPadding": 2,
            "labelLimit": 200,
        },
        legend={
            **text,
            "orient": "bottom",
            "symbolSize": 30,
            "offset": 4,
            "padding": 0,
            "rowPadding": 1,
            "columnPadding": 6,
            "labelLimit": 200,
            "columns": legend_columns,
        },
        text={"fontSize": _SMALL, "color": INK},
    )
