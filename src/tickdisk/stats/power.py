"""Power before promise: the verdicts that a number of lives can reach, and the number of lives that a verdict needs."""

from functools import cache
from math import ceil, exp, isfinite, log, nan

import numpy as np
from scipy import stats
from statsmodels.stats.power import TTestPower

from tickdisk.stats.families import holm

_MOST_LIVES = 100_000
_POWER = 0.8
_EACH_SIDE = 0.9
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
    """Returns the shares of a family's claims found different and found equivalent, each Holm-adjusted, in simulated experiments.

    Each of the `claims` rests on n life contrasts with mean `effect` (a log ratio) and standard deviation `sd`.
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
    """Returns the least number of lives with which one of both tests has 80 % power for this mean and SD; None above 100,000.

    The mean is a log ratio. For equivalence each of the two one-sided tests is asked for 90 %, so that both have 80 %.
    """
    if not (isfinite(mean) and sd > 0):
        return None
    inside = log(1 + margin) - abs(mean)
    asked = [(abs(mean), alpha_different, _POWER, "two-sided"), (inside, alpha_equivalent, _EACH_SIDE, "larger")]
    found = [_lives(distance / sd, alpha, power, side) for distance, alpha, power, side in asked if distance > 0]
    return min((n for n in found if n is not None), default=None)


def _lives(effect_size: float, alpha: float, power: float, alternative: str) -> int | None:
    test = TTestPower()

    def enough(n: int) -> bool:
        # Far beyond certainty the non-central t distribution is no number.
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
    """Returns the ratio above 1 that a t test over n life contrasts with this SD finds with 80 % power; NaN below two lives."""
    if n < 2 or not sd > 0:  # noqa: PLR2004 - a spread needs two
        return nan
    return exp(sd * _detectable_effect_size(n, alpha))


@cache
def _detectable_effect_size(n: int, alpha: float) -> float:
    return float(TTestPower().solve_power(nobs=n, alpha=alpha, power=_POWER, alternative="two-sided"))
