"""Power before the runs: the verdicts that a number of lives can reach, and the number of lives that a verdict needs."""

from functools import cache
from math import ceil, exp, isfinite, log, nan

import numpy as np
from scipy import stats
from statsmodels.stats.power import TTestPower

from tickdisk.stats.families import holm

_MOST_LIVES = 1 << 16
"""Numbers of lives above this are not looked for."""
_POWER = 0.8
_ONE_SIDED_POWER = 0.9
"""Power of each of TOST's two tests that gives both of them together at least `_POWER`."""


def family_power(
    n: int,
    claims: int,
    *,
    sd: float,
    effect: float,
    margin: float,
    alpha: float,
    rng: np.random.Generator,
    simulations: int = 4000,
) -> tuple[float, float]:
    """Estimates the power of `n` lives, by simulated experiments with a family of claims, each with n life contrasts of its own.

    `sd` is the standard deviation and `effect` the true mean of the lives' log ratios. The result has the shares of the claims
    that are found different and found equivalent, after Holm's adjustment. Both are 0 for fewer than two lives.
    """
    if n < 2:  # noqa: PLR2004 - a spread needs two
        return 0.0, 0.0
    values = rng.normal(effect, sd, (simulations, claims, n))
    limit = log(1 + margin)
    p = stats.ttest_1samp(values, 0.0, axis=-1).pvalue
    above = stats.ttest_1samp(values, -limit, axis=-1, alternative="greater").pvalue
    below = stats.ttest_1samp(values, limit, axis=-1, alternative="less").pvalue
    return float(np.mean(holm(p) < alpha)), float(np.mean(holm(np.maximum(above, below)) < alpha))


def needed_lives(mean: float, sd: float, *, margin: float, alpha_different: float, alpha_equivalent: float) -> int | None:
    """Finds the smallest number of lives with which a test of a difference or a test of equivalence has 80 % power.

    `mean` and `sd` are those of the lives' log ratios. Equivalence takes two one-sided tests. Each of them is asked for 90 %
    power, so that both together have 80 %. The result is None if more than 65,536 lives are needed, if `mean` is not finite, or
    if `sd` is not above 0.
    """
    if not (isfinite(mean) and sd > 0):
        return None
    inside = log(1 + margin) - abs(mean)
    asked = [(abs(mean), alpha_different, _POWER, "two-sided"), (inside, alpha_equivalent, _ONE_SIDED_POWER, "larger")]
    numbers = [_lives(distance / sd, alpha, power, side) for distance, alpha, power, side in asked if distance > 0]
    return min((n for n in numbers if n is not None), default=None)


def _lives(effect_size: float, alpha: float, power: float, alternative: str) -> int | None:
    test = TTestPower()

    def enough(n: int) -> bool:
        # If the effect is found with certainty, the non-central t distribution can give NaN, which counts as enough.
        return not float(test.power(effect_size, n, alpha, alternative=alternative)) < power

    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_LIVES:
            return None
    low = high // 2
    while high - low > 1:
        middle = ceil((low + high) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_ratio(n: int, sd: float, *, alpha: float) -> float:
    """Computes the smallest ratio above 1 of arm to baseline that a two-sided t test over `n` lives finds with 80 % power.

    `sd` is the standard deviation of the lives' log ratios. The result is NaN for fewer than two lives, or if `sd` is not above
    0.
    """
    if n < 2 or not sd > 0:  # noqa: PLR2004 - a spread needs two
        return nan
    return exp(sd * _detectable_effect_size(n, alpha))


@cache
def _detectable_effect_size(n: int, alpha: float) -> float:
    return float(TTestPower().solve_power(nobs=n, alpha=alpha, power=_POWER, alternative="two-sided"))
