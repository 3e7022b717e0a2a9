"""Dose-response: the latency up to which a metric is good, the latency from which it suffers, and its slope over the latency."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tickdisk.foundation.errors import TickdiskError
from tickdisk.stats.causes import ControlUndecided
from tickdisk.stats.contrast import Contrast


@dataclass(frozen=True)
class Bounds:
    """The doses at which a metric is shown to stay within the margin, and the doses at which it is shown to exceed the margin.

    They have the unit of the doses, such as ms. Nothing is known about doses between the two. A bound is None if no dose was
    shown to satisfy it.
    """

    good_up_to: float | None
    """Largest dose up to which the one-sided upper bound of the ratio lies inside the margin at every dose."""
    hurts_from: float | None
    """Smallest dose from which the one-sided lower bound of the ratio lies above the margin, and above the intervals of undecided
    controls, at every dose.
    """
    lives: int
    """Smallest number of lives that any dose rests on."""


def dose_bounds(
    effects: Sequence[tuple[float, Contrast]], *, margin: float, undecided: Sequence[ControlUndecided] = ()
) -> Bounds:
    """Finds the dose up to which a metric is good, and the dose from which it suffers. Raises TickdiskError if there are no
    effects.

    Both bounds come from fixed-sequence tests, which are one-sided at the contrasts' level alpha. Doses are tested upwards until
    one is not shown to lie inside the margin, and downwards until one is not shown to lie above the margin. Tests in a fixed
    sequence need no adjustment (Maurer, Hothorn and Lehmacher 1995). The `effects` are the dose and the contrast of each arm, in
    any order. Null controls and shams that are `undecided` allow no dose to be good.
    """
    if not effects:
        raise TickdiskError("a dose-response needs an arm with a latency of its own; add one to workflow/config/experiments.tsv")
    upwards = sorted(effects, key=lambda each: each[0])
    good = hurts = None
    most = max([1 + margin, *(control.high for control in undecided)])
    for dose, effect in upwards:
        if undecided or not effect.high_one_sided < 1 + margin:
            break
        good = dose
    for dose, effect in reversed(upwards):
        if not effect.low_one_sided > most:
            break
        hurts = dose
    return Bounds(good, hurts, min(effect.n for _, effect in effects))


@dataclass(frozen=True)
class Slope:
    """The rise of a metric with the dose, from a line that is fitted within each life and a t test over the lives' slopes."""

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

    `dose_ms`, `response` and `life` have a value for each epoch, shape (n,). Responses that are not finite are left out. The mean
    line is evaluated at the doses `at_ms`, shape (k,). A life with fewer than two doses has no slope and is left out. The result
    is None if fewer than two lives have a slope. A server's slack can bend the line, so the slope is a secondary result.
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
