"""Makes the tables and figures that describe loads."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.characterise import NUMBERS, Description
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.inspect.compute import Results

_UNITS = {"share": "%", "ratio": "", "bytes": "bytes"}


def beside(results: Results) -> pd.DataFrame:
    """Returns one row per number and one column per load, ours (the mean over runs with its interval) and published ones."""
    columns = {one.title: [_cell(one, name) for name in NUMBERS] for one in results.descriptions}
    table = pd.DataFrame(columns, index=pd.Index([words for _, words in NUMBERS.values()], name="number"))
    for reference in results.references:
        table[reference.load] = ""
        if reference.share_reads is not None:
            table.loc[NUMBERS["share_reads"][1], reference.load] = percent(reference.share_reads)
        sizes = " to ".join(f"{number(kib)} KiB" for kib in (reference.least_kib, reference.most_kib) if kib is not None)
        words = sizes if reference.least_kib is not None else f"up to {sizes}"
        table.loc[NUMBERS["p50_bytes"][1], reference.load] = f"mostly {words}" if sizes else ""
        for name in ("peak_ratio", "hot_ratio", "queue_most"):
            published: float | None = getattr(reference, name)
            table.loc[NUMBERS[name][1], reference.load] = "" if published is None else f"about {number(published)}"
    return table


def _cell(description: Description, name: str) -> str:
    unit = NUMBERS[name][0]
    mean = description.means[name]
    value, low, high = mean.value, mean.low, mean.high
    if not isfinite(value):
        # A period is looked for in the sizes of requests over time.
        is_looked_for = name.endswith("period_s") and isfinite(description.means["peak_mb_per_s"].value)
        return "none found" if is_looked_for else "not known"
    factor = 100 if unit == "share" else 1
    text = with_interval(*(factor * part for part in (value, low, high))) if isfinite(low) else number(factor * value)
    return f"{text} {_UNITS.get(unit, unit)}".rstrip()


def syncs(results: Results) -> pd.DataFrame:
    """Returns the number and the times of the syncs of the first load, and the share of the time that they take."""
    found = results.shown.part("syncs")
    table = found.table.set_index("call")
    names = {"total_ms": "total (ms)", "p50_ms": "p50 (ms)", "p99_ms": "p99 (ms)", "most_ms": "longest (ms)"}
    shown: pd.DataFrame = table[list(names)].map(number).rename(columns=names)
    shown.insert(0, "requests", table["requests"].map("{:,}".format))
    shown["share of the time"] = ""
    shown.iloc[-1, -1] = percent(found.share_of_time)
    return shown


def amounts(results: Results) -> pd.DataFrame:
    """Returns the numbers and bytes of reads and writes of the first load."""
    table = results.shown.part("amounts")
    return pd.DataFrame(
        {
            "requests": table["requests"].map("{:,}".format),
            "MB": (table["bytes"] / 1e6).map(number),
            "share of requests": table["share_requests"].map(percent),
            "share of bytes": table["share_bytes"].map(percent),
        }
    )


def storing(results: Results) -> pd.DataFrame:
    """Returns how many reads and writes ask to be stored in which way, and the time that they took, for the first load."""
    table = results.shown.part("storing").set_index(["op", "storing"])
    return pd.DataFrame(
        {
            "requests": table["requests"].map("{:,}".format),
            "MB": (table["bytes"] / 1e6).map(number),
            "total latency (ms)": table["latency_ms"].map(number),
        }
    )


def latencies(results: Results) -> pd.DataFrame:
    """Returns percentiles of latency by operation and size, for the first load."""
    table: pd.DataFrame = results.shown.part("latencies").set_index(["op", "size"])
    shown = table.drop(columns="requests").map(number).rename(columns=lambda name: name.replace("_ms", " (ms)"))
    return shown.assign(requests=table["requests"].map("{:,}".format))[["requests", *shown.columns]]


def sequences(results: Results) -> pd.DataFrame:
    """Returns the share of requests that follow each other in their file or volume, and the mean length of their sequences."""
    table = results.shown.part("sequences").set_index("op")
    return pd.DataFrame(
        {
            "requests": table["requests"].map("{:,}".format),
            "sequential": table["share_sequential"].map(percent),
            "mean requests in a sequence": table["mean_requests"].map(number),
            "mean KiB in a sequence": (table["mean_bytes"] / 1024).map(number),
        }
    )


def places(results: Results) -> pd.DataFrame:
    """Returns the requests and bytes of the thirty files or volumes with the most bytes, for the first load."""
    shown = results.shown
    table = shown.part("places").head(30).set_index("place").rename_axis(shown.place_word)
    return pd.DataFrame(
        {
            "reads": table["reads"].map("{:,.0f}".format),
            "writes": table["writes"].map("{:,.0f}".format),
            "MB read": (table["read_bytes"] / 1e6).map(number),
            "MB written": (table["write_bytes"] / 1e6).map(number),
        }
    )


def stores(results: Results) -> pd.DataFrame:
    """Returns the requests and bytes of each part of a game server's stores, for the first load."""
    table = results.shown.part("stores").sort_values("bytes", ascending=False).set_index(["store", "part", "op"])
    return pd.DataFrame({"requests": table["requests"].map("{:,}".format), "MB": (table["bytes"] / 1e6).map(number)})


def chunks(results: Results) -> pd.DataFrame:
    """Returns the thirty chunks of region files with the most requests, for the first load."""
    table = results.shown.part("chunks")
    busiest = table.assign(requests=table["reads"] + table["writes"]).nlargest(30, "requests").drop(columns="requests")
    shown: pd.DataFrame = busiest.assign(place=busiest["place"].str.rsplit("/", n=1).str[-1]).set_index(["place", "x", "z"])
    return shown


def flushes(results: Results) -> pd.DataFrame:
    """Returns in one column when written data reach the storage: at once, or in flushes, for the first load."""
    found = results.shown.part("flushes")
    rows = {
        "bytes written in flushes": percent(found.share_delayed),
        "bytes written immediately": percent(1 - found.share_delayed),
        "flushes": number(found.flushes),
        "median time from one to the next (s)": number(found.interval_s),
        "writes per second in a flush": number(found.writes_per_s),
    }
    return pd.DataFrame({"value": rows}).rename_axis("writes")


def files(results: Results) -> pd.DataFrame:
    """Returns what the listed files say beside the trace, for the first load."""
    shown = results.shown
    rows = {
        "share of the files that the load touches": "give the files by --files"
        if shown.files is None
        else "no file of the trace is listed; give the folder under its own path"
        if not shown.share_of_files
        else percent(shown.share_of_files),
        "packing": "give the files by --files" if shown.files is None else shown.files.packing,
        "average bandwidth over that of the disk": "give the bandwidth by --peak-mb-per-s"
        if shown.peak_mb_per_s is None
        else percent(shown.bandwidth_use),
    }
    return pd.DataFrame({"value": rows}).rename_axis("not in the trace alone")


def _treemap(results: Results) -> Any:
    shown = results.shown
    if shown.files is None:
        raise TickdiskError("not in the trace: the sizes of files; give the folder of the files by --files")
    if not shown.files.table["bytes"].any():
        raise TickdiskError("all files are empty, so there is nothing to draw")
    return plot.load_treemap(shown.files.table, packing=shown.files.packing)


def _moves(description: Description, part: str) -> int:
    """Returns the number of requests in a part of a description that counts requests."""
    return int(description.part(part)["requests"].sum())


def _areas(results: Results) -> Any:
    shown = results.shown
    found = shown.part("locality")
    return plot.load_areas(found.over_space, found.concentration, places=f"{shown.place_word}s", hot_ratio=found.hot_ratio)


def _reuse(results: Results) -> Any:
    shown, found = results.shown, results.shown.part("reuse")
    return plot.load_reuse(found.hits, found.working_set, sample=found.sample, level=1 - shown.alpha)


def _paper(results: Results) -> Any:
    return plot.loads_of_servers({one.title: (one.part("sizes"), one.part("rates")) for one in results.descriptions})


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "paper_loads": _paper,
    "rates": lambda results: plot.load_rates(results.shown.part("rates"), n=_moves(results.shown, "amounts")),
    "data": lambda results: plot.load_data(results.shown.part("data")),
    "sizes": lambda results: plot.load_sizes(results.shown.part("sizes")),
    "latencies": lambda results: plot.load_latencies(results.shown.part("latency_map"), n=_moves(results.shown, "latency_map")),
    "queue": lambda results: plot.load_queue(results.shown.part("queue")),
    "gaps": lambda results: plot.load_gaps(results.shown.part("gaps")),
    "areas": _areas,
    "reuse": _reuse,
    "touched": lambda results: plot.load_touched(results.shown.part("touched"), places=f"{results.shown.place_word}s"),
    "files": _treemap,
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "beside": beside,
    "syncs": syncs,
    "amounts": amounts,
    "storing": storing,
    "latencies": latencies,
    "sequences": sequences,
    "places": places,
    "stores": stores,
    "chunks": chunks,
    "flushes": flushes,
    "files": files,
}
