"""Means over server lives, the unit of analysis."""

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


@dataclass(frozen=True)
class Mean:
    """Mean of one value a life with Student's interval; NaN where n lives cannot say it."""

    value: float
    low: float
    high: float
    p_above: float
    """One-sided p of a mean that is not above zero."""
    n: int


def over_lives(values: ArrayLike, alpha: float = 0.05) -> Mean:
    """Returns the mean of the finite values, one a life."""
    array = np.asarray(values, dtype=float)
    finite = array[np.isfinite(array)]
    n, mean = finite.size, float(finite.mean()) if finite.size else nan
    if n < 2:  # noqa: PLR2004 - a variance needs two
        return Mean(mean, nan, nan, nan, n)
    error = float(finite.std(ddof=1)) / n**0.5
    half = float(stats.t.ppf(1 - alpha / 2, n - 1)) * error
    p = float(stats.t.sf(mean / error, n - 1)) if error > 0 else float(mean <= 0)
    return Mean(mean, mean - half, mean + half, p, n)
