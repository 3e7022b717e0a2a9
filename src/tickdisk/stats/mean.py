"""Means over server lives, the unit of analysis, and Student's interval."""

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

ALPHA = 0.05
"""Level of tests and one minus the confidence of intervals in a command that has no plan. A study has those of its plan."""


@dataclass(frozen=True)
class Mean:
    """The mean over server lives of one value for each life, with Student's interval. A number that n lives cannot estimate is
    NaN.
    """

    value: float
    """Mean of the values."""
    low: float
    high: float
    """Ends of the interval of `value` at confidence 1 - alpha."""
    p_above: float
    """p value of the one-sided t test against a mean of 0 or less."""
    n: int
    """Number of lives whose value is finite."""


def half_length(error: ArrayLike, n: int, alpha: float) -> NDArray[np.float64]:
    """Returns half the length of Student's interval at confidence 1 - alpha.

    `error` is the standard error of one or more estimates from n independent values. The result has the shape of `error`.
    """
    return np.asarray(stats.t.ppf(1 - alpha / 2, n - 1) * np.asarray(error, dtype=float))


def over_lives(values: ArrayLike, alpha: float) -> Mean:
    """Computes the mean of one value for each life, shape (n,), and its interval at confidence 1 - alpha.

    Values that are not finite are left out. The interval and the p value are NaN for fewer than two finite values.
    """
    array = np.asarray(values, dtype=float)
    finite = array[np.isfinite(array)]
    n, mean = finite.size, float(finite.mean()) if finite.size else nan
    if n < 2:  # noqa: PLR2004 - a variance needs two
        return Mean(mean, nan, nan, nan, n)
    error = float(finite.std(ddof=1)) / n**0.5
    half = float(half_length(error, n, alpha))
    p = float(stats.t.sf(mean / error, n - 1)) if error > 0 else float(mean <= 0)
    return Mean(mean, mean - half, mean + half, p, n)
