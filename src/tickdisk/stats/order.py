"""Effects of the order of arms in a switchback: carry-over from the epoch before, and drift over the places in a life."""

from dataclasses import dataclass
from math import nan

import numpy as np
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class OrderEffect:
    """The effects of the order of arms on a log metric: carry-over from the epoch before, and drift over the places in a life.

    Each has an interval at confidence 1 - alpha and a p value. All values are NaN if they cannot be estimated.
    """

    carry_over: float
    """Change of the log metric for each tenfold increase of the previous epoch's latency."""
    carry_over_low: float
    carry_over_high: float
    carry_over_p: float
    position: float
    """Change of the log metric for each place further back in the life."""
    position_low: float
    position_high: float
    position_p: float
    n: int
    """Number of epochs that the estimate rests on. They have a finite metric and a predecessor with a latency above 0."""


def _dummies(labels: ArrayLike) -> NDArray[np.float64]:
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    return np.asarray(codes[:, None] == np.arange(1, names.size), dtype=float)


def order_effect(
    log_metric: ArrayLike,
    arm: ArrayLike,
    life: ArrayLike,
    position: ArrayLike,
    previous_dose_ms: ArrayLike,
    *,
    alpha: float,
) -> OrderEffect:
    """Estimates the effects of the order of arms in a switchback: carry-over from the epoch before, and drift within a life.

    The regression is ordinary least squares with fixed effects of arm and life and both order terms (Jones and Kenward 2014,
    chapter 5). All arrays have one value for each epoch, shape (epochs,). `position` is the place of an epoch in its life, and
    `previous_dose_ms` the dose of the epoch before, or NaN for the first epoch of a life. The values of the result are NaN if
    there are too few epochs, or if the terms cannot be told apart.
    """
    previous, values = np.asarray(previous_dose_ms, dtype=float), np.asarray(log_metric, dtype=float)
    used = np.isfinite(previous) & (previous > 0) & np.isfinite(values)
    n = int(used.sum())
    nothing = OrderEffect(nan, nan, nan, nan, nan, nan, nan, nan, n)
    if n == 0:
        return nothing
    order = np.column_stack([np.log10(previous[used]), np.asarray(position, dtype=float)[used]])
    design = np.column_stack([np.ones(n), order, _dummies(np.asarray(arm)[used]), _dummies(np.asarray(life)[used])])
    if n - design.shape[1] < 2 or np.linalg.matrix_rank(design) < design.shape[1]:  # noqa: PLR2004 - too few to judge a spread
        return nothing
    fitted = sm.OLS(values[used], design).fit()
    (carry, place), (carry_ends, place_ends), p = fitted.params[1:3], fitted.conf_int(alpha)[1:3], fitted.pvalues[1:3]
    return OrderEffect(
        float(carry),
        float(carry_ends[0]),
        float(carry_ends[1]),
        float(p[0]),
        float(place),
        float(place_ends[0]),
        float(place_ends[1]),
        float(p[1]),
        n,
    )
