"""The comparison of a replay's times with those of the capture, for each operation."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.foundation.numbers import NS_PER_MS, number

_COLUMNS = ("total", "p50", "p99", "longest")


def costs(timings: pd.DataFrame) -> pd.DataFrame:
    """Compares how long the requests took in a replay ("here") and in the capture, for each operation such as read.

    The table has one row per operation, with the largest total here first, and at last a row `all`. The columns are requests
    (number), captured_ and here_ with total_ms, p50_ms, p99_ms and longest_ms (times of the calls), and times (total here over
    the captured total, NaN if that is 0). The quantiles are those of the sample, however small it is. If the trace lacks the
    latency of a request, the captured times are NaN.
    """
    here = (timings["completed_ns"] - timings["issued_ns"]).to_numpy(float)
    captured = timings["captured_ns"].to_numpy(float, na_value=np.nan)
    rows = {
        str(op): {"requests": len(at), **_spent("captured", captured[at]), **_spent("here", here[at])}
        for op, at in timings.reset_index(drop=True).groupby("op").indices.items()
    }
    rows["all"] = {"requests": len(timings), **_spent("captured", captured), **_spent("here", here)}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table["times"] = table["here_total_ms"] / table["captured_total_ms"].where(table["captured_total_ms"] > 0)
    is_all = table.index == "all"
    return pd.concat([table[~is_all].sort_values("here_total_ms", ascending=False, kind="stable"), table[is_all]])


def _spent(where: str, ns: NDArray[np.float64]) -> dict[str, float]:
    if not ns.size:
        return {f"{where}_{name}_ms": 0.0 for name in _COLUMNS}
    p50, p99 = np.quantile(ns, [0.5, 0.99], method="inverted_cdf")
    values = (ns.sum(), p50, p99, ns.max())
    return {f"{where}_{name}_ms": float(value) / NS_PER_MS for name, value in zip(_COLUMNS, values, strict=True)}


def screen(table: pd.DataFrame) -> Iterator[str]:
    """Yields the table of `costs` for the screen, line by line, and sentences about its limits if there are requests."""
    words = " ".join(f"{name:>9}" for name in _COLUMNS)
    yield f"{'':10} {'':>9}   {'as captured (ms)':^39}   {'here (ms)':^39}   {'total here'}"
    yield f"{'operation':10} {'requests':>9}   {words}   {words}   {'/ captured':>10}"
    for op, row in table.to_dict("index").items():
        parts = [" ".join(f"{_shown(row[f'{where}_{name}_ms']):>9}" for name in _COLUMNS) for where in ("captured", "here")]
        times = "" if np.isnan(row["times"]) else number(row["times"])
        yield f"{op!s:10} {number(int(row['requests'])):>9}   {parts[0]}   {parts[1]}   {times:>10}"
    every = table.to_dict("index")["all"]
    if not every["requests"] or not every["here_total_ms"]:
        return
    if np.isnan(every["captured_total_ms"]):
        yield "How long they took when they were captured is not in the trace."
    yield "Threads that waited for a lock behind such a request are not held up in a replay, so a server can lose more than this."


def verdict(table: pd.DataFrame) -> str:
    """Returns the table of `costs` in one sentence: how long the program would wait for its requests here."""
    every = table.to_dict("index")["all"]
    if not every["requests"] or not every["here_total_ms"]:
        return "Here the program would not wait for its requests."
    captured_ms, times = every["captured_total_ms"], every["times"]
    ratio = "" if np.isnan(times) else f", {number(times)} times as much"
    before = "" if np.isnan(captured_ms) else f" instead of {number(captured_ms)} ms as captured{ratio}"
    total = number(every["here_total_ms"])
    return f"Here the program would wait {total} ms for its requests{before}; most of it in {table.index[0]}."


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else number(value)
