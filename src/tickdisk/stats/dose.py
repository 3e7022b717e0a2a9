"""Dose-response: up to which storage latency a metric is good, from which one it suffers, and the slope between them."""

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
    """The doses that a metric bears and those that hurt it; between the two nothing is known. None: no dose was shown to."""

    good_up_to: float | None
    """The largest dose whose upper bound, and that of every smaller dose, stays inside the margin."""
    hurts_from: float | None
    """The smallest dose whose lower bound, and that of every larger dose, lies above the margin."""
    lives: int
    """Fewest lives that any dose rests on."""


def dose_bounds(effects: Sequence[tuple[float, Contrast]], *, margin: float) -> Bounds:
    """Returns the bounds from the dose and the contrast of each arm.

    Both are fixed-sequence tests at the contrasts' level alpha, one-sided: doses are tested upwards until one is not shown to lie
    inside the margin, and downwards until one is not shown to lie above it, so that neither needs an adjustment (Maurer, Hothorn
    and Lehmacher 1995). TickdiskError without a dose.
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
    """A line fitted within each life, and the t test over the lives' slopes; a server's slack can bend it, so it is secondary."""

    per_ms: float
    """Mean over lives of the rise of the metric for each ms of latency."""
    low: float
    high: float
    p: float
    lives: int
    at_ms: NDArray[np.float64]
    fitted: NDArray[np.float64]
    fitted_low: NDArray[np.float64]
    fitted_high: NDArray[np.float64]
    """Mean over the lives' lines at the doses `at_ms`, with its pointwise interval over lives, shape (len(at_ms),)."""


def slope(dose_ms: ArrayLike, response: ArrayLike, life: ArrayLike, *, at_ms: ArrayLike, alpha: float) -> Slope | None:
    """Returns the slope of a metric over the dose; `dose_ms`, `response` and `life` have the shape (n,), one row an epoch.

    A life with fewer than two doses has no slope and is left out; None below two lives that have one.
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
    # Equal slopes have no spread: their p is that of a certain difference, or none.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tested = stats.ttest_1samp(slopes, 0.0)
        ends = tested.confidence_interval(1 - alpha)
        band = stats.ttest_1samp(np.stack(lines), 0.0, axis=0).confidence_interval(1 - alpha)
    mean, p = float(np.mean(slopes)), float(tested.pvalue)
    fitted = np.mean(lines, axis=0)
    return Slope(mean, float(ends.low), float(ends.high), p, len(slopes), at, fitted, band.low, band.high)
