"""Quantiles that are estimated only if the sample is large enough, and distribution functions thinned for drawing."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


@dataclass(frozen=True)
class Quantile:
    """A sample quantile with an interval between two order statistics, which needs no assumption about the distribution."""

    value: float
    """Estimate of the quantile, in the unit of the sample."""
    low: float
    high: float
    """Ends of the interval. They are NaN if n values are too few for an interval."""
    n: int


def minimum_n(q: float) -> int:
    """Returns the smallest sample size for which a quantile is estimated: 2 for the median, 20 for p95, 100 for p99.

    From this size on at least one value is expected beyond the quantile. The estimate then lies below the maximum, which is no
    estimate of the quantile.
    """
    return ceil(1 / (1 - Fraction(str(max(q, 1 - q)))))


def minimum_n_interval(q: float, level: float) -> int:
    """Returns the smallest sample size for which two order statistics enclose a quantile with probability `level` (Wilks 1941).

    At 95 % the size is 6 for the median, 59 for p95, 299 for p99 and 2995 for p99.9.
    """
    n = ceil(log(1 - level) / log(max(q, 1 - q)))
    while 1 - q**n - (1 - q) ** n < level:
        n += 1
    return n


def estimate(values: ArrayLike, q: float) -> float | None:
    """Estimates a quantile of a sample of the shape (n,) in its unit. None for fewer than `minimum_n(q)` values.

    The estimate is median-unbiased (Hyndman and Fan 1996, type 8).
    """
    sample = np.asarray(values, dtype=float)
    return None if sample.size < minimum_n(q) else float(np.quantile(sample, q, method="median_unbiased"))


def quantile(values: ArrayLike, q: float, level: float) -> Quantile | None:
    """Estimates a quantile of a sample of the shape (n,) as `estimate` does, with an interval in the same unit.

    The interval's ends are the closest order statistics that enclose the quantile with a probability of at least `level`, for
    independent values (Hahn and Meeker 1991, section 5.2). Ticks are not independent.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n, value = ordered.size, estimate(ordered, q)
    if value is None:
        return None
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
    """Computes the empirical distribution function of a sample, thinned to at most `points` points for drawing.

    The result is sorted values, and for each the share of the sample that is at most as large. Thinning takes points from the
    middle and keeps both tails. The points are evenly spaced in the logarithm of the share from each end, and the smallest and
    the largest value are among them.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n = ordered.size
    if n <= points:
        return ordered, np.arange(1, n + 1) / n
    half = np.unique(np.geomspace(1, n / 2, points // 2).astype(int)) - 1
    ranks = np.unique(np.concatenate([half, n - 1 - half]))
    return ordered[ranks], (ranks + 1) / n
