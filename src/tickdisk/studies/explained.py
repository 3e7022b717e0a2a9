"""Writes an explanation of ticks as one HTML page that loads nothing from elsewhere, so that it can be sent to others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from tickdisk import blame, plot
from tickdisk.foundation.files import write_text
from tickdisk.studies.inside_tick import around_tick

_STYLE = "vendor/pico.classless.min.css"


def write_explained(heading: str, lines: Sequence[str], blames: Sequence[blame.Blame], template: Path, output: Path) -> None:
    """Writes the lines of a screen, the first one large, with figures of all ticks and of the time around the worst one.

    There are no figures if no thread was explained. The style sheet lies in the folder `vendor` beside the template.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = environment.from_string(template.read_text(encoding="utf-8")).render(
        heading=heading,
        style=(template.parent / _STYLE).read_text(encoding="utf-8"),
        lines=list(lines),
        figures=[_svg(chart, number) for number, chart in enumerate(_charts(blames))],
    )
    write_text(output, text)


def _charts(blames: Sequence[blame.Blame]) -> list[Any]:
    if not blames:
        return []
    worst = max(blames, key=lambda one: int(one.ticks["late_ns"].max()))
    row = int(worst.ticks.index[int(worst.ticks["late_ns"].to_numpy().argmax())])
    around = around_tick(worst, row, f"Around the worst {'tick' if worst.evidence.ticks is not None else 'second'}")
    budget_ns = blames[0].budget_ns
    if budget_ns is None:
        return [around]
    first_ns = min(int(one.ticks["start_ns"].min()) for one in blames)
    ticks = pd.concat([one.ticks for one in blames])
    table = pd.DataFrame(
        {
            "at_s": (ticks["start_ns"] - first_ns) / 1e9,
            "gap_ms": ticks["gap_ns"] / 1e6,
            "cause": [
                blame.CAUSE_WORDS[cause] if slow else None for cause, slow in zip(ticks["cause"], ticks["slow"], strict=True)
            ],
        }
    )
    return [plot.tick_gaps(table, budget_ms=budget_ns / 1e6), around]


def _svg(chart: Any, number: int) -> str:
    """Returns a figure as SVG, with names that differ from figure to figure of the page."""
    return plot.to_svg(chart).replace('id="clip', f'id="{number}-clip').replace("url(#clip", f"url(#{number}-clip")
