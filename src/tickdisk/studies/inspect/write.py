"""Writes descriptions of loads as one HTML page that loads nothing from elsewhere, and as JSON."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from tickdisk import plot, stats
from tickdisk.characterise import Description
from tickdisk.formats import Counts
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text
from tickdisk.foundation.numbers import number, percent
from tickdisk.studies.inspect.compute import Replayed, Results
from tickdisk.studies.inspect.show import FIGURES, TABLES

_STYLE = "vendor/pico.classless.min.css"
_SECTIONS = (
    ("Syncs", ("syncs",)),
    ("Reads and writes", ("amounts", "storing", "sizes", "latencies table")),
    ("Over time", ("rates", "flushes", "data", "latencies", "queue", "gaps")),
    ("Places", ("areas", "sequences", "reuse", "touched", "places", "stores", "chunks")),
    ("Files and bandwidth", ("files table", "files")),
)
"""Headings of the page, with the figures and tables below each. ` table` follows a name that a figure has, too."""


def write_inspected(
    results: Results, counts: list[Counts], template: Path, output: Path, replayed: Replayed | None = None
) -> None:
    """Writes the loads of traces, and a simulated replay of the first trace if there is one, as one page.

    The page contains its figures and its style sheet, which lies in the folder `vendor` beside the template. It loads nothing
    from another host.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = environment.from_string(template.read_text(encoding="utf-8")).render(
        style=(template.parent / _STYLE).read_text(encoding="utf-8"),
        loads=[_load(results, description) for description in results.descriptions],
        beside=_html(TABLES["beside"](results)),
        source=results.source,
        confidence=percent(1 - results.shown.alpha),
        said=[f"{reference.load}: {reference.said}" for reference in results.references],
        counts=[_counted(count) for count in counts],
        first=[sentence for count in counts for sentence in count.first],
        replayed=None if replayed is None else _replayed(replayed),
    )
    write_text(output, text)


def _load(results: Results, description: Description) -> dict[str, Any]:
    own = replace(results, descriptions=[description])
    return {
        "title": description.title,
        "sentence": description.kind.sentence,
        "runs": len(description.runs),
        "sections": [(heading, [_shown(own, name) for name in names]) for heading, names in _SECTIONS],
    }


def _shown(results: Results, name: str) -> dict[str, str]:
    """Returns a figure or a table of the first load as HTML, or the reason for which the trace does not have it."""
    try:
        if name in FIGURES:
            svg = plot.to_svg(FIGURES[name](results))
            # Names in one page have to differ from figure to figure.
            own = f"{results.shown.key}-{name}-clip"
            return {"html": svg.replace('id="clip', f'id="{own}').replace("url(#clip", f"url(#{own}"), "kind": "figure"}
        return {"html": _html(TABLES[name.removesuffix(" table")](results)), "kind": "table"}
    except TickdiskError as error:
        return {"html": f"{name.removesuffix(' table').capitalize()}: {error}.", "kind": "missing"}


def _html(table: pd.DataFrame) -> str:
    # A name can have control characters, which a page may not.
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "\ufffd", table.reset_index().to_html(index=False, border=0, escape=True))


def _counted(counts: Counts) -> str:
    rejected = sum(count for count, _ in counts.rejected.values())
    return f"{counts.requests:,} requests in {counts.lines:,} lines of {counts.format}; {rejected:,} lines could not be read"


def _replayed(replayed: Replayed) -> dict[str, Any]:
    table = replayed.costs.rename(columns=lambda name: name.removesuffix("_ms").replace("_", " "))
    shown = table.map(number).rename_axis("operation, times in ms")
    refused = "; ".join(f"{reason}: {number(count)}" for reason, count in replayed.refused.items())
    return {"device": replayed.device, "sentence": replayed.sentence, "table": _html(shown), "refused": refused}


def inspected_as_json(results: Results, counts: list[Counts], replayed: Replayed | None = None) -> dict[str, Any]:
    """Returns for each load its sentence, its numbers with intervals over runs, its tables, and what is not in the trace. A
    number that is not known is null.
    """
    found: dict[str, Any] = {
        "traces": [count.as_json() for count in counts],
        "loads": [_described(one) for one in results.descriptions],
    }
    if replayed is not None:
        costs = {str(op): _row(row) for op, row in replayed.costs.iterrows()}
        found["replay"] = {"device": replayed.device, "costs": costs, "refused": dict(replayed.refused)}
    return found


def _described(description: Description) -> dict[str, Any]:
    tables = {name: part for name, part in description.parts.items() if isinstance(part, pd.DataFrame)}
    extra: dict[str, Any] = {}
    if "locality" in description.parts:
        found = description.part("locality")
        extra["locality"] = {"areas": found.areas, "hot_ratio": _number(found.hot_ratio), "hot_share": _number(found.hot_share)}
    if "reuse" in description.parts:
        reuse = description.part("reuse")
        tables |= {"cache_hits": reuse.hits, "working_set": reuse.working_set}
        extra["reuse"] = {"distinct_mib": reuse.distinct_mib, "one_page_of": reuse.sample}
    if "syncs" in description.parts:
        found = description.part("syncs")
        tables["syncs"] = found.table
        extra["share_of_time_in_syncs"] = _number(found.share_of_time)
    if "flushes" in description.parts:
        policy = description.part("flushes")
        tables["flushes"] = policy.table
        extra["flush_policy"] = {
            "share_delayed": _number(policy.share_delayed),
            "interval_s": _number(policy.interval_s),
            "writes_per_s": _number(policy.writes_per_s),
        }
    return {
        "title": description.title,
        "sentence": description.kind.sentence,
        "nearest_published": description.kind.nearest or None,
        "runs": len(description.runs),
        "operations": dict(description.operations),
        "failed": description.failed,
        "numbers": {name: _mean(mean) for name, mean in description.means.items()},
        "tables": {name: [_row(row) for row in _rows(table)] for name, table in tables.items()},
        **extra,
        "share_of_files_touched": _number(description.share_of_files),
        "packing": None if description.files is None else description.files.packing,
        "bandwidth_use": _number(description.bandwidth_use),
        "not_in_the_trace": dict(description.reasons),
    }


def _mean(mean: stats.Mean) -> dict[str, float | int | None]:
    return {"value": _number(mean.value), "low": _number(mean.low), "high": _number(mean.high), "n": mean.n}


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    named = table.reset_index() if table.index.name else table
    return [{str(key): value for key, value in row.items()} for row in named.to_dict("records")]


def _row(row: Any) -> dict[str, Any]:
    return {
        str(key): _number(float(value)) if isinstance(value, int | float | np.number) else str(value)
        for key, value in row.items()
    }


def _number(value: float | None) -> float | int | None:
    if value is None or not np.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(value)
