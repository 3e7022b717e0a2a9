"""Quantiles that say when a sample does not reach them, and distribution functions thinned for drawing."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


@dataclass(frozen=True)
class Quantile:
    """A sample quantile with a distribution-free interval between two order statistics; NaN ends where n has no such interval."""

    value: float
    low: float
    high: float
    n: int


def minimum_n(q: float) -> int:
    """Returns the sample size that reaches the quantile: at least one value is expected beyond it.

    2 for the median, 20 for p95, 100 for p99. From there on the estimate lies below the maximum, which is no estimate of it.
    """
    return ceil(1 / (1 - Fraction(str(max(q, 1 - q)))))


def minimum_n_interval(q: float, level: float = 0.95) -> int:
    """Returns the sample size from which two order statistics enclose the quantile with probability `level` (Wilks 1941).

    At 95 %: 6 for the median, 59 for p95, 299 for p99, 2995 for p99.9.
    """
    n = ceil(log(1 - level) / log(max(q, 1 - q)))
    while 1 - q**n - (1 - q) ** n < level:
        n += 1
    return n


def quantile(values: ArrayLike, q: float, level: float = 0.95) -> Quantile | None:
    """Returns the q quantile of the values, or None (not estimable) for a sample below `minimum_n(q)`.

    Value: median-unbiased (Hyndman and Fan 1996, type 8). Interval: the closest order statistics that enclose the quantile with
    at least `level`, for independent values (Hahn and Meeker 1991, section 5.2); ticks are not, see `quantile_effect`.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n = ordered.size
    if n < minimum_n(q):
        return None
    value = float(np.quantile(ordered, q, method="median_unbiased"))
    if n < minimum_n_interval(q, level):
        return Quantile(value, nan, nan, n)
    cumulative = stats.binom.cdf(np.arange(n + 1), n, q)
    lower = np.arange(1, n)
    upper = 1 + np.searchsorted(cumulative, level + cumulative[lower - 1])
    fits = upper <= n
    lower, upper = lower[fits], upper[fits]
    closest = np.lexsort((np.abs(lower + upper - 1 - 2 * n * q), upper - lower))[0]
    return Quantile(value, float(ordered[lower[closest] - 1]), float(ordered[upper[closest] - 1]), n)


def ecdf(values: ArrayLike, points: int = 200) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns (x, share of the values that are at most x), at most `points` each, the largest and smallest value among them.

    The points thin out the middle and keep both tails: they are even in log share from each end.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n = ordered.size
    if n <= points:
        return ordered, np.arange(1, n + 1) / n
    half = np.unique(np.geomspace(1, n / 2, points // 2).astype(int)) - 1
    ranks = np.unique(np.concatenate([half, n - 1 - half]))
    return ordered[ranks], (ranks + 1) / n
