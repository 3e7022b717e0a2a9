"""Makes the tables and figures of the study of accesses."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import pandas as pd

from tickdisk import accesses, plot
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number, p_value, percent, with_interval
from tickdisk.studies.accesses.compute import Results

_MAP, _MARKERS = "map.sqlite", "/markers/"
_MB = 1e6


def files(results: Results) -> pd.DataFrame:
    """Returns the table of the requests and MB that were moved, over all captured lives, by data type, file and operation.

    The journal of a database counts as the database, and all marker files together are one row.
    """
    rows = pd.concat([life.accesses for life in results.lives])
    store = rows["store"].mask(rows["file"].str.contains(_MARKERS, regex=False), "markers")
    counted = rows.assign(store=store, requests=1, MB=rows["bytes"] / _MB)
    values = ["requests", "MB"]
    table = counted.pivot_table(index=["data", "store"], columns="op", values=values, aggfunc="sum", fill_value=0)
    return pd.DataFrame({(value, str(op)): table[value, op].map(number) for value in values for op in table[value].columns})


def interactions(results: Results) -> pd.DataFrame:
    """Returns the table of the requests that each interaction of a player causes, as published by PokeSto and as found here.

    It has one row per interaction, data type and direction. Accesses that were neither published nor found have no row.
    """
    effects = results.effects
    chosen = effects[effects["published"] | (effects["p_adjusted"] < results.plan.alpha)]
    rows = [
        {
            **{name: row[name] for name in ("interaction", "data", "op")},
            "published": "yes" if row["published"] else "no",
            "found": with_interval(row["per_event"], row["low"], row["high"]) if row["lives"] else "not seen alone",
            "test": f"adjusted {p_value(row['p_adjusted'])}" if isfinite(row["p_adjusted"]) else "",
            "windows": row["windows"],
            "lives": row["lives"],
        }
        for row in chosen.to_dict("records")
    ]
    return pd.DataFrame(rows).set_index(["interaction", "data", "op"])


def form(results: Results) -> pd.DataFrame:
    """Returns the table of requests, MB, sizes and sequential shares by data type and direction, as means over lives."""
    means = pd.concat([accesses.form(life.accesses) for life in results.lives]).groupby(["data", "op"]).mean()
    columns = {
        "requests": means["requests"].map(number),
        "MB": (means["bytes"] / _MB).map(number),
        "median size (bytes)": means["p50_bytes"].map(number),
        "of 4 or 8 KiB": means["share_4_8_kib"].map(percent),
        "sequential": means["share_sequential"].map(percent),
        "share of requests": means["share_requests"].map(percent),
        "share of bytes": means["share_bytes"].map(percent),
    }
    return pd.DataFrame(columns)


def delayed(results: Results) -> pd.DataFrame:
    """Returns the table of written requests and bytes with the shares that were written in saves, by data type and life."""
    table = pd.concat([accesses.delayed(life.accesses, life.saves).assign(life=life.name) for life in results.lives])
    table = table.set_index(["data", "life"])
    columns = {
        "requests": table["requests"].map(number),
        "MB": (table["bytes"] / _MB).map(number),
        "requests in saves": table["share_saved_requests"].map(percent),
        "bytes in saves": table["share_saved_bytes"].map(percent),
    }
    return pd.DataFrame(columns)


def routines(results: Results) -> pd.DataFrame:
    """Returns the table of the requests and bytes that one event of each routine costs in the model, beside the published
    accesses.

    A published routine without a cost above zero has one row without numbers.
    """
    theirs = {row.routine: f"{row.accesses}, {row.timing} {'/'.join(row.directions)}" for row in results.published.routines}
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for unit, model in (("requests", results.model), ("bytes", results.model_bytes)):
        for row in accesses.nonzero_coefficients(model).to_dict("records"):
            key = (row["routine"], row["data"], row["op"])
            cell = rows.setdefault(key, {"published": theirs.get(row["routine"], "none")})
            cell[f"{unit} each"] = with_interval(row["value"], row["low"], row["high"])
    known = {routine for routine, *_ in rows}
    for routine, words in theirs.items():
        if routine not in known:
            rows[routine, "", ""] = {"published": words, "requests each": "no such event here"}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["routine", "data", "op"]).fillna("")


def predictions(results: Results) -> pd.DataFrame:
    """Returns the table of observed and predicted requests per minute of each held-out life.

    The error is predicted over observed, less 1.
    """
    errors = results.errors.set_index("life")
    return pd.DataFrame(
        {
            **{f"{name} (requests/min)": errors[name].map(number) for name in ("observed", "predicted")},
            "error": errors["error"].map(percent),
        }
    )


def cumulative(results: Results) -> Any:
    """Draws the bytes that the first captured life has read and written over time, with the times of its saves."""
    life = results.lives[0]
    table = accesses.cumulative(life.accesses, _start_ns(results))
    return plot.cumulative_accesses(table, saves_s=_saves_s(results), life=life.name)


def _start_ns(results: Results) -> int:
    return int(results.lives[0].accesses["at_ns"].min())


def _saves_s(results: Results) -> list[float]:
    """Returns the times of the saves of the first life since its first access."""
    times: list[float] = ((results.lives[0].saves["end_ns"] - _start_ns(results)) / 1e9).tolist()
    return times


def sizes(results: Results) -> Any:
    """Draws the sizes of requests by data type and direction, over all lives."""
    return plot.access_sizes(accesses.sizes(pd.concat([life.accesses for life in results.lives])))


def offsets(results: Results) -> Any:
    """Draws the offsets in the map's database at which the first life reads and writes, over time."""
    rows = results.lives[0].accesses
    own = rows[(rows["store"] == _MAP) & rows["file"].str.endswith(_MAP) & (rows["op"] != "sync")].dropna(subset=["offset"])
    return plot.offset_time(own.assign(at_s=(own["at_ns"] - _start_ns(results)) / 1e9), store=_MAP)


def regions(results: Results) -> Any:
    """Draws the reads of terrain over the number of regions that players came to, with the fitted lines."""
    return plot.accesses_over_regions(results.points, results.lines)


def predicted(results: Results) -> Any:
    """Draws the observed and predicted requests of each window between two saves, in the lives held out of the model's fit.

    Raises TickdiskError if no life was held out, which is so for a single life.
    """
    _check_held_out(results)
    parts = [accesses.predict(results.model.value, life).assign(life=life.name) for life in results.held_out]
    return plot.predicted_observed(pd.concat(parts))


def paper_accesses(results: Results) -> Any:
    """Draws bytes over time, reads over regions, and predicted over observed requests of each life, for the paper.

    Each life is predicted from all others. Raises TickdiskError if only one life was captured.
    """
    _check_held_out(results)
    everything = results.lives[0].accesses.assign(data="all")
    return plot.accesses_at_a_glance(
        accesses.cumulative(everything, _start_ns(results)),
        saves_s=_saves_s(results),
        regions=results.points,
        lines=results.lines,
        predicted=results.in_turn,
    )


def _check_held_out(results: Results) -> None:
    if not results.held_out:
        raise TickdiskError("only one life was captured, and the model was fitted to it; run at least two blocks for this figure")


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "cumulative": cumulative,
    "regions": regions,
    "sizes": sizes,
    "offsets": offsets,
    "predicted": predicted,
    "paper_accesses": paper_accesses,
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: results.data.summary(),
    "files": files,
    "interactions": interactions,
    "form": form,
    "delayed": delayed,
    "routines": routines,
    "predictions": predictions,
}
