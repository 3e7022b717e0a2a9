"""How late each request was issued, and whose fault that was."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import stats

Integers = npt.NDArray[np.int64]
QUANTILES = {"p50": 0.5, "p99": 0.99}


def previous_completion(stream: npt.ArrayLike, completed_ns: npt.ArrayLike) -> Integers:
    """Returns for each request when the one before it in its stream was completed; the earliest integer for the first."""
    streams, completed = np.asarray(stream), np.asarray(completed_ns, dtype=np.int64)
    order = np.argsort(streams, kind="stable")
    previous = np.full(len(streams), np.iinfo(np.int64).min)
    same = streams[order][1:] == streams[order][:-1]
    previous[order[1:][same]] = completed[order[:-1][same]]
    return previous


def lateness(
    stream: npt.ArrayLike, due_ns: npt.ArrayLike, issued_ns: npt.ArrayLike, completed_ns: npt.ArrayLike
) -> tuple[Integers, Integers]:
    """Returns lag and time lost in ns of requests in the order of their streams; issued - due is their sum.

    lag = issued - max(due, previous completion in the stream): what the issuer, or the machine that it shares, was late.
    lost = max(0, previous completion - due): what the device was late with, and the requests before.
    """
    due, issued = np.asarray(due_ns, dtype=np.int64), np.asarray(issued_ns, dtype=np.int64)
    possible = np.maximum(due, previous_completion(stream, completed_ns))
    return issued - possible, possible - due


def behind_ns(stream: npt.ArrayLike, due_ns: npt.ArrayLike, completed_ns: npt.ArrayLike) -> int:
    """Returns the time in which a stream had a request that was due and could not be issued, summed over streams.

    Such times overlap where several requests wait; each is counted from the completion before the last on.
    """
    due = np.asarray(due_ns, dtype=np.int64)
    previous = previous_completion(stream, completed_ns)
    before = previous_completion(stream, previous)
    known = previous > np.iinfo(np.int64).min
    return int(np.maximum(0, previous - np.maximum(due, before))[known].sum())


def summarise(timings: pd.DataFrame) -> dict[str, Any]:
    """Returns what a replay did and how late: counts, lag in ns over all and over the first and the last tenth, time lost in ns.

    Requests whose lag is not known (fio keeps no time of a sync) are left out of the lags and counted in `lag_unknown`. A
    quantile that the sample does not reach is None.
    """
    lag, lost = (timings[name].dropna().to_numpy(float) for name in ("lag_ns", "lost_ns"))
    tenth = len(lag) // 10
    return {
        "streams": int(timings["thread"].nunique()),
        "requests": len(timings),
        "seconds": float(timings["completed_ns"].max() - timings["due_ns"].min()) / 1e9,
        "lag_unknown": int(timings["lag_ns"].isna().sum()),
        "lag_ns": spread(lag),
        "lag_first_tenth_ns": spread(lag[:tenth]),
        "lag_last_tenth_ns": spread(lag[len(lag) - tenth :]),
        "lost_ns": spread(lost),
        "delayed": int(np.count_nonzero(lost > 0)),
        "behind_ns": behind_ns(timings["thread"], timings["due_ns"], timings["completed_ns"]),
        "service_ns": spread((timings["completed_ns"] - timings["issued_ns"]).to_numpy(float)),
        "differing": differing(timings),
    }


def spread(values: npt.NDArray[np.float64]) -> dict[str, float | None]:
    """Returns p50, p99 and the maximum; None where the sample does not reach them."""
    found = {name: stats.quantile(values, q) for name, q in QUANTILES.items()}
    quantiles = {name: None if value is None else value.value for name, value in found.items()}
    return {**quantiles, "max": float(values.max()) if len(values) else None}


def differing(timings: pd.DataFrame) -> dict[str, int]:
    """Returns how many results were not as captured: short, long (of reads and writes), failed, succeeded (and were not to)."""
    result, expected = timings["result"], timings["expected"]
    fine = (result >= 0) & (expected >= 0)
    return {
        "short": int((fine & (result < expected)).sum()),
        "long": int((fine & (result > expected)).sum()),
        "failed": int(((result < 0) & (result != expected)).sum()),
        "succeeded": int(((result >= 0) & (expected < 0)).sum()),
    }
