"""The effect of an arm against its baseline: t tests over the contrasts of server lives."""

from dataclasses import dataclass
from math import exp, log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tickdisk.errors import TickdiskError

_TINY = 1e-12
"""Below this spread, as a share of the values, contrasts are equal: their interval has no width."""


@dataclass(frozen=True)
class Contrast:
    """The effect that the contrasts of n server lives show; every ratio is arm over baseline, NaN where n lives cannot tell it.

    A life's contrast is a log ratio, so the intervals are those of Student's t test on the log scale. They cover 95 % of normal
    contrasts and about as much of heavy-tailed ones (tests/test_stats_coverage.py).
    """

    n: int
    """Lives."""
    ratio: float
    """Geometric mean of the ratios."""
    low: float
    high: float
    """Ends of the 1 - alpha interval of the ratio."""
    low_one_sided: float
    high_one_sided: float
    """Ends of the 1 - 2 alpha interval; each is a one-sided bound at level alpha."""
    p: float
    """Two-sided t test of ratio 1."""
    p_equivalent: float
    """Two one-sided t tests (TOST) of a ratio outside 1 / (1 + margin) to 1 + margin (Schuirmann 1987)."""
    sd_log: float
    """Standard deviation of the log ratios."""


@dataclass(frozen=True)
class Sensitivity:
    """How much a contrast depends on single lives and on the t distribution; it stands beside the verdict and decides nothing."""

    p_sign_flip: float
    """Sign-flip permutation test; with n lives it cannot fall below 2 / 2^n."""
    ratio_low: float
    ratio_high: float
    """Least and largest ratio when each life is left out in turn; NaN for fewer than two lives."""


def life_contrasts(log_values: ArrayLike, *, baseline: int, null: int) -> NDArray[np.float64]:
    """Returns each life's contrast of each arm; `log_values` and the result have the shape (..., lives, arms).

    The reference of an arm is the mean of the life's two baseline epochs, the columns `baseline` and `null`, or the one of them
    that is not NaN. The null column holds the A/A contrast, null minus baseline, which is orthogonal to that mean; the baseline
    column holds NaN.
    """
    values = np.asarray(log_values, dtype=float)
    first, second = values[..., [baseline]], values[..., [null]]
    found = values - np.where(np.isnan(first), second, np.where(np.isnan(second), first, (first + second) / 2))
    found[..., null] = values[..., null] - values[..., baseline]
    found[..., baseline] = nan
    return found


def contrast(log_ratios: ArrayLike, *, margin: float, alpha: float) -> Contrast:
    """Returns the contrast of log ratios, shape (n,), one a life; margin 0.2 means ratios from 1 / 1.2 to 1.2.

    Two lives are the fewest for an interval. TickdiskError for a value that is not finite.
    """
    values = np.asarray(log_ratios, dtype=float)
    if values.ndim != 1 or not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values.ravel()))[0]) if values.ndim == 1 else -1
        raise TickdiskError(
            f"log ratios must be one finite number a life (shape {values.shape}, first bad index {bad}); "
            "leave lives out whose metric is not estimable, and count them"
        )
    return contrasts(values[None, :], margin=margin, alpha=alpha)[0]


def contrasts(log_ratios: ArrayLike, *, margin: float, alpha: float) -> list[Contrast]:
    """Returns the contrast of each row of finite log ratios, shape (rows, n): the same as `contrast`, many at once."""
    values = np.asarray(log_ratios, dtype=float)
    rows, n = values.shape
    mean = values.mean(axis=1) if n else np.full(rows, nan)
    if n < 2:  # noqa: PLR2004 - a spread needs two
        return [Contrast(n, exp(centre), nan, nan, nan, nan, nan, nan, nan) for centre in mean.tolist()]
    limit, sd = log(1 + margin), values.std(axis=1, ddof=1)
    equal = sd <= _TINY * np.maximum(1.0, np.abs(mean))
    # Equal contrasts have no t: any spread stands in for theirs, and their row is written afterwards.
    spread = np.where(equal[:, None], np.arange(n), values)
    tested = stats.ttest_1samp(spread, 0.0, axis=1)
    wide, narrow = (tested.confidence_interval(level) for level in (1 - alpha, 1 - 2 * alpha))
    above = stats.ttest_1samp(spread, -limit, axis=1, alternative="greater").pvalue
    below = stats.ttest_1samp(spread, limit, axis=1, alternative="less").pvalue
    p, p_equivalent = np.asarray(tested.pvalue).copy(), np.maximum(above, below)
    ends = np.exp(np.column_stack([mean, wide.low, wide.high, narrow.low, narrow.high]))
    ends[equal] = np.exp(mean[equal])[:, None]
    p[equal] = np.abs(mean[equal]) <= _TINY
    p_equivalent[equal] = np.abs(mean[equal]) >= limit
    columns = np.column_stack([ends, p, p_equivalent, sd])
    return [Contrast(n, *row) for row in columns.tolist()]


def sensitivity(log_ratios: ArrayLike, *, rng: np.random.Generator) -> Sensitivity:
    """Returns the sign-flip p (every flip up to 13 lives, 9,999 drawn ones above) and the range with each life left out."""
    values = np.asarray(log_ratios, dtype=float)
    if values.size < 2:  # noqa: PLR2004 - nothing is left without the only life
        return Sensitivity(nan, nan, nan)
    flipped = stats.permutation_test((values,), np.mean, permutation_type="samples", vectorized=True, rng=rng)
    without = (values.sum() - values) / (values.size - 1)
    return Sensitivity(float(flipped.pvalue), exp(float(without.min())), exp(float(without.max())))
