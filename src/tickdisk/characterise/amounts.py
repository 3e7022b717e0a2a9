"""Describes how much a load reads and writes: numbers, bytes, sizes of requests, and latencies by size."""

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.characterise.load import OPS, Load

_KIB = 1 << 10
SIZES = {
    "up to 4 KiB": 4 * _KIB,
    "over 4 to 16 KiB": 16 * _KIB,
    "over 16 to 64 KiB": 64 * _KIB,
    "over 64 to 256 KiB": 256 * _KIB,
    "over 256 KiB": np.inf,
}
"""Largest size in bytes of each class of sizes, by name."""
QUANTILES = (0.5, 0.99, 0.999, 0.99999)


def amounts(load: Load) -> pd.DataFrame:
    """Counts reads and writes, and raises TickdiskError if the trace does not tell which requests are which.

    The table is indexed by op and has requests, bytes, share_requests and share_bytes. The shares are of reads and writes
    together.
    """
    sizes = load.having("op").groupby("op", observed=False)["bytes"]
    table = pd.DataFrame({"requests": sizes.size(), "bytes": sizes.sum()})
    for name in ("requests", "bytes"):
        table[f"share_{name}"] = table[name] / max(float(table[name].sum()), 1.0)
    return table


def ways_of_storing(load: Load) -> pd.DataFrame:
    """Counts the reads and writes for each way in which they ask to be stored, such as buffered or O_DSYNC.

    The table has op, storing, requests, bytes, and latency_ms (the total time of those of which the trace tells it). Raises
    TickdiskError if the trace does not tell how requests are stored.
    """
    rows = load.having("op", "storing")
    of_each = rows.groupby(["op", "storing"], observed=True)
    table = pd.DataFrame(
        {"requests": of_each.size(), "bytes": of_each["bytes"].sum(), "latency_ms": of_each["latency_ns"].sum() / 1e6}
    )
    return table.reset_index().astype({"op": str, "storing": str})


def size_distribution(load: Load) -> pd.DataFrame:
    """Computes the distribution of the sizes of reads and of writes.

    The columns are op, bytes (a size), requests (number of requests of at most this size and more than the size before) and share
    (of the requests of this op that are of at most this size). Sizes are rounded up to four steps for each power of 2.
    """
    rows = load.having("op", "bytes")
    sizes = np.ceil(_rounded_up(rows["bytes"].to_numpy()))
    table = rows.groupby(["op", sizes], observed=True).size().rename("requests").rename_axis(["op", "bytes"]).reset_index()
    return table.assign(
        share=table.groupby("op", observed=True)["requests"].transform(lambda counts: counts.cumsum() / counts.sum())
    )


def _rounded_up(sizes: np.ndarray) -> np.ndarray:
    """Rounds sizes up to the next of four steps for each power of 2, such as 4096, 5120, 6144, 7168."""
    step = 2.0 ** (np.floor(np.log2(np.maximum(sizes, 1))) - 2)
    return np.asarray(np.ceil(sizes / step) * step)


def size_class(sizes: pd.Series) -> pd.Series:
    """Returns the class of each size in bytes, a key of `SIZES`, as an ordered category of the same shape.

    Examples
    --------
    >>> size_class(pd.Series([4096, 4097])).tolist()
    ['up to 4 KiB', 'over 4 to 16 KiB']
    """
    return pd.cut(sizes, [-np.inf, *SIZES.values()], labels=list(SIZES)).rename("size")


def latencies(load: Load) -> pd.DataFrame:
    """Estimates percentiles of latency by operation and size, because large ones may have worse tails (Maruf et al. 2021).

    There is one row per op and class of `SIZES` that has requests: op, size, requests, and p50_ms, p99_ms, p99.9_ms and
    p99.999_ms. A percentile for which the class has too few requests is NaN, as `stats.minimum_n` says: the maximum is no
    estimate of it. Raises TickdiskError if the trace has no latencies or no sizes.
    """
    rows = load.having("op", "latency_ns", "bytes")
    ms = rows["latency_ns"] / 1e6
    classes = []
    for op in OPS:
        for size, values in ms[rows["op"] == op].groupby(size_class(rows["bytes"]), observed=True):
            classes.append({"op": op, "size": str(size), "requests": len(values)} | _percentiles(values.to_numpy()))
    return pd.DataFrame(classes)


def _percentiles(ms: np.ndarray) -> dict[str, float]:
    return {f"p{100 * q:.5g}_ms": quantile(ms, q) for q in QUANTILES}


def quantile(values: np.ndarray, q: float) -> float:
    """Estimates a quantile as `stats.estimate` does, or returns NaN for too few values.

    It has no interval, because the requests of a trace are no independent sample.
    """
    estimate = stats.estimate(values, q)
    return np.nan if estimate is None else estimate
