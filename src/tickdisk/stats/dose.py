"""Dose-response: tests of the latency up to which a metric is good and of the latency from which it suffers, and the slope of
the metric over the latency.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tickdisk.errors import TickdiskError
from tickdisk.stats.contrast import Contrast


@dataclass(frozen=True)
class Bounds:
    """The doses at which a metric is shown to stay within the margin, and the doses at which it is shown to exceed the margin.

    `dose_bounds` returns them in the unit of the doses, such as ms. Nothing is known about doses between the two. A bound is None
    if no dose was shown to satisfy it.
    """

    good_up_to: float | None
    """Largest dose up to which the one-sided upper bound of the ratio lies inside the margin at every dose."""
    hurts_from: float | None
    """Smallest dose from which the one-sided lower bound of the ratio lies above the margin at every dose."""
    lives: int
    """Smallest number of lives that any dose rests on."""


def dose_bounds(effects: Sequence[tuple[float, Contrast]], *, margin: float) -> Bounds:
    """Finds the dose up to which a metric is good, and the dose from which it suffers.

    Both bounds come from fixed-sequence tests, which are one-sided at the contrasts' level alpha. Doses are tested upwards until
    one is not shown to lie inside the margin, and downwards until one is not shown to lie above the margin. Tests in a fixed
    sequence need no adjustment (Maurer, Hothorn and Lehmacher 1995).

    Parameters
    ----------
    effects
        Dose and contrast of each arm, in any order. The bounds have the unit of the doses.
    margin
        Margin of equivalence. A margin of 0.2 allows ratios from 1 / 1.2 to 1.2.

    Returns
    -------
    Bounds
        The two bounds, and the smallest number of lives.

    Raises
    ------
    TickdiskError
        If `effects` is empty.
    """
    if not effects:
        raise TickdiskError("a dose-response needs an arm with a latency of its own; add one to workflow/config/experiments.tsv")
    upwards = sorted(effects, key=lambda each: each[0])
    good = hurts = None
    for dose, effect in upwards:
        if not effect.high_one_sided < 1 + margin:
            break
        good = dose
    for dose, effect in reversed(upwards):
        if not effect.low_one_sided > 1 + margin:
            break
        hurts = dose
    return Bounds(good, hurts, min(effect.n for _, effect in effects))


@dataclass(frozen=True)
class Slope:
    """The rise of a metric with the dose, from a line that is fitted within each life and a t test over the lives' slopes.

    A server's slack can bend the line, so the slope is a secondary result.
    """

    per_ms: float
    """Mean over lives of the rise of the metric for each ms of latency."""
    low: float
    high: float
    """Ends of the interval of `per_ms` at confidence 1 - alpha."""
    p: float
    """p value of the two-sided t test against a slope of 0."""
    lives: int
    """Number of lives that have a slope."""
    at_ms: NDArray[np.float64]
    """Doses in ms at which the mean line is evaluated, shape (k,)."""
    fitted: NDArray[np.float64]
    fitted_low: NDArray[np.float64]
    fitted_high: NDArray[np.float64]
    """Mean of the lives' lines at the doses `at_ms`, and the ends of its pointwise interval over lives, each of shape (k,)."""


def slope(dose_ms: ArrayLike, response: ArrayLike, life: ArrayLike, *, at_ms: ArrayLike, alpha: float) -> Slope | None:
    """Fits a line of a metric over the dose within each life, and tests the slopes over lives against 0.

    Parameters
    ----------
    dose_ms
        Dose of each epoch in ms, shape (n,).
    response
        Metric in each epoch, shape (n,). Values that are not finite are left out.
    life
        Life of each epoch, shape (n,).
    at_ms
        Doses in ms at which the mean line is evaluated, shape (k,).
    alpha
        Level of the two-sided test. Intervals have confidence 1 - alpha.

    Returns
    -------
    Slope or None
        The mean slope with its test, and the mean line. A life with fewer than two doses has no slope and is left out. None if
        fewer than two lives have a slope.
    """
    dose, metric, at = (np.asarray(values, dtype=float) for values in (dose_ms, response, at_ms))
    labels = np.asarray(life)
    slopes, lines = [], []
    for label in np.unique(labels):
        own = (labels == label) & np.isfinite(metric) & np.isfinite(dose)
        if np.unique(dose[own]).size > 1:
            line = stats.linregress(dose[own], metric[own])
            slopes.append(float(line.slope))
            lines.append(line.intercept + line.slope * at)
    if len(slopes) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    # Equal slopes have no spread. Their p value is 0, or NaN if every slope is 0.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tested = stats.ttest_1samp(slopes, 0.0)
        ends = tested.confidence_interval(1 - alpha)
        band = stats.ttest_1samp(np.stack(lines), 0.0, axis=0).confidence_interval(1 - alpha)
    mean, p = float(np.mean(slopes)), float(tested.pvalue)
    fitted = np.mean(lines, axis=0)
    return Slope(mean, float(ends.low), float(ends.high), p, len(slopes), at, fitted, band.low, band.high)
