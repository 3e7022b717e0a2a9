"""Does the order of a switchback matter? Carry-over from the epoch before, and drift over the positions of a cycle."""

from dataclasses import dataclass
from math import nan

import numpy as np
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tickdisk.stats.contrast import Contrast, contrast


@dataclass(frozen=True)
class OrderEffect:
    """Slopes of the log metric beside arm and block fixed effects, with 1 - alpha intervals and p; NaN when not estimable.

    `carry_over`: per tenfold of the previous epoch's latency. `position`: per place further back in the cycle.
    """

    carry_over: float
    carry_over_low: float
    carry_over_high: float
    carry_over_p: float
    position: float
    position_low: float
    position_high: float
    position_p: float
    n: int
    """Epochs that have a predecessor."""


def _dummies(labels: ArrayLike) -> NDArray[np.float64]:
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    return np.asarray(codes[:, None] == np.arange(1, names.size), dtype=float)


def order_effect(
    log_metric: ArrayLike,
    arm: ArrayLike,
    block: ArrayLike,
    position: ArrayLike,
    previous_dose_ms: ArrayLike,
    *,
    alpha: float = 0.05,
) -> OrderEffect:
    """Returns the order effects of a switchback; all arguments of shape (epochs,), `previous_dose_ms` NaN for a life's first.

    OLS with arm and block (cycle) fixed effects and both order terms (Jones and Kenward 2014, chapter 5).
    """
    previous, values = np.asarray(previous_dose_ms, dtype=float), np.asarray(log_metric, dtype=float)
    used = np.isfinite(previous) & (previous > 0) & np.isfinite(values)
    n = int(used.sum())
    nothing = OrderEffect(nan, nan, nan, nan, nan, nan, nan, nan, n)
    if n == 0:
        return nothing
    order = np.column_stack([np.log10(previous[used]), np.asarray(position, dtype=float)[used]])
    design = np.column_stack([np.ones(n), order, _dummies(np.asarray(arm)[used]), _dummies(np.asarray(block)[used])])
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


def blocks_differ_p(log_ratios: ArrayLike, block: ArrayLike) -> float:
    """Returns the p of one-way analysis of variance: do the log ratios differ more between blocks (lives) than within them?

    NaN for one block or none repeated. A small p says that the cycles of a life are not independent: look at `block_contrast`.
    """
    values, labels = np.asarray(log_ratios, dtype=float), np.asarray(block)
    groups = [values[labels == label] for label in np.unique(labels)]
    between = len(groups) - 1
    within = values.size - len(groups)
    if between < 1 or within < 1 or sum(float(np.ptp(group)) for group in groups) == 0:
        return nan
    return float(stats.f_oneway(*groups).pvalue)


def block_contrast(
    log_ratios: ArrayLike, block: ArrayLike, *, margin: float, rng: np.random.Generator, alpha: float = 0.05
) -> Contrast:
    """Returns the contrast of the blocks' mean log ratios: the conservative reading, n is the number of blocks (lives)."""
    values, labels = np.asarray(log_ratios, dtype=float), np.asarray(block)
    means = [float(values[labels == label].mean()) for label in np.unique(labels)]
    return contrast(means, margin=margin, rng=rng, alpha=alpha)
