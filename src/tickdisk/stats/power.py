"""Power before promise: what n pairs can show, simulated and in closed form."""

from math import exp, log, nan
from typing import Literal

import numpy as np
from scipy import stats

Kind = Literal["difference", "equivalence"]
_MOST_PAIRS = 100_000


def simulate_power(
    kind: Kind,
    n: int,
    *,
    run_sd: float,
    block_sd: float,
    rng: np.random.Generator,
    margin: float = 0.2,
    effect: float = 0.0,
    alpha: float = 0.05,
    paired: bool = True,
    simulations: int = 10_000,
) -> float:
    """Returns the share of simulated experiments that reach the verdict `kind` with n runs an arm.

    A run's log metric is its block's (SD `block_sd`) plus its own (SD `run_sd`); the arm's is `effect`, a log ratio, higher.
    "difference": two-sided t test at alpha; "equivalence": TOST with ratios within 1 + margin. Unpaired, for comparison:
    the same runs analysed by Welch's test, as if the blocks were not known. One run decides nothing.
    """
    if n < 2:  # noqa: PLR2004 - a variance needs two
        return 0.0
    baseline, arm = rng.normal(0, run_sd, (2, simulations, n)) + rng.normal(0, block_sd, (simulations, n))
    if paired:
        error = (arm - baseline).std(axis=1, ddof=1) / n**0.5
        df = np.full(simulations, n - 1.0)
    else:
        parts = np.stack([baseline.var(axis=1, ddof=1), arm.var(axis=1, ddof=1)]) / n
        error = np.sqrt(parts.sum(axis=0))
        df = (n - 1) * parts.sum(axis=0) ** 2 / (parts**2).sum(axis=0)
    mean = arm.mean(axis=1) - baseline.mean(axis=1) + effect
    if kind == "difference":
        found = np.abs(mean) / error > stats.t.ppf(1 - alpha / 2, df)
    else:
        found = (log(1 + margin) - np.abs(mean)) / error > stats.t.ppf(1 - alpha, df)
    return float(found.mean())


def paired_power(kind: Kind, n: int, *, effect: float, sd: float, margin: float = 0.2, alpha: float = 0.05) -> float:
    """Returns the power of n paired log ratios with mean `effect` and standard deviation `sd`, from the non-central t.

    TOST: Phillips's (1990) approximation, which ignores that both one-sided tests share a standard error.
    """
    if n < 2 or sd <= 0:  # noqa: PLR2004 - a variance needs two
        return nan
    df, error = n - 1, sd / n**0.5
    if kind == "difference":
        critical = float(stats.t.ppf(1 - alpha / 2, df))
        shift = min(abs(effect) / error, 37.0)
        return float(stats.nct.sf(critical, df, shift) + stats.nct.cdf(-critical, df, shift))
    critical, limit = float(stats.t.ppf(1 - alpha, df)), log(1 + margin)
    inside, outside = ((limit + sign * effect) / error for sign in (1, -1))
    return max(0.0, float(stats.nct.sf(critical, df, min(inside, 37.0)) + stats.nct.sf(critical, df, min(outside, 37.0)) - 1))


def needed_n(kind: Kind, *, effect: float, sd: float, margin: float = 0.2, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Returns the least number of pairs that reaches `power` for this mean and SD of the log ratios; None above 100,000."""

    def enough(n: int) -> bool:
        return paired_power(kind, n, effect=effect, sd=sd, margin=margin, alpha=alpha) >= power

    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_PAIRS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_log_ratio(n: int, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Returns the log ratio that a two-sided paired t test with n pairs finds with the given power; NaN below two pairs."""
    if n < 2 or not sd > 0:  # noqa: PLR2004 - a variance needs two
        return nan
    critical, df = float(stats.t.ppf(1 - alpha / 2, n - 1)), n - 1
    # Solve for the non-centrality; the far tail adds less than its own digits.
    low, high = 0.0, critical + 40.0
    for _ in range(60):
        middle = (low + high) / 2
        reached = float(stats.nct.sf(critical, df, middle)) >= power
        low, high = (low, middle) if reached else (middle, high)
    return float(high * sd / n**0.5)


def detectable_ratio(n: int, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Returns `detectable_log_ratio` as a ratio above 1: the minimum detectable effect."""
    return exp(detectable_log_ratio(n, sd, alpha=alpha, power=power))
