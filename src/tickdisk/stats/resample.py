"""Effects on tick quantiles: a bootstrap over pairs of epochs, and stationary blocks of ticks within each."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, nan

import numpy as np
from arch.bootstrap import optimal_block_length
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tickdisk.errors import TickdiskError
from tickdisk.stats.quantile import minimum_n

Pair = tuple[ArrayLike, ArrayLike]
"""Values of the baseline and of the arm in one cycle or block, each in the order of time."""
_FEWEST_PAIRS = 6
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class QuantileEffect:
    """Ratio of a quantile, arm over baseline, with its interval; `method` says which one n pairs allow."""

    q: float
    ratio: float
    low: float
    high: float
    n: int
    block_length: float
    """Median over epochs of the mean length of a resampled block, in ticks (Politis and White 2004, corrected 2009)."""
    method: str


@dataclass(frozen=True)
class Shift:
    """A shift function: differences of quantiles, arm minus baseline, with a pointwise band, shape (len(q),)."""

    q: NDArray[np.float64]
    shift: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: int
    method: str


def block_length(values: ArrayLike) -> float:
    """Returns the mean block length of a stationary bootstrap of the series: 1 for a constant or short one, a third at most."""
    series = np.asarray(values, dtype=float)
    if series.size < 8 or np.ptp(series) == 0:  # noqa: PLR2004 - too short for an autocorrelation
        return 1.0
    # At lags as long as a short series, or where only its beginning varies, a correlation is infinite, which is not small.
    with np.errstate(divide="ignore", invalid="ignore"):
        length = float(optimal_block_length(series)["stationary"].iloc[0])
    return min(max(length, 1.0), series.size / 3) if np.isfinite(length) else 1.0


def stationary_indices(n: int, mean_length: float, samples: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Returns indices of shape (samples, n): blocks of geometric length from random starts, wrapped (Politis and Romano 1994)."""
    fresh = rng.random((samples, n)) < 1 / mean_length
    fresh[:, 0] = True
    starts = rng.integers(n, size=(samples, n))
    position = np.arange(n)
    since = np.maximum.accumulate(np.where(fresh, position, 0), axis=1)
    return (np.take_along_axis(starts, since, axis=1) + position - since) % n


def _drawn_quantiles(
    values: NDArray[np.float64], length: float, q: NDArray[np.float64], samples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    drawn = values[stationary_indices(values.size, length, samples, rng)]
    return np.asarray(np.quantile(drawn, q, axis=1, method="median_unbiased").T)


@dataclass(frozen=True)
class _Resampled:
    effects: NDArray[np.float64]  # (pairs, q)
    means: NDArray[np.float64]  # (samples, q), no rows when there are too few pairs
    length: float


def _resample(
    pairs: Sequence[Pair], q: NDArray[np.float64], *, rng: np.random.Generator, samples: int, ratio: bool
) -> _Resampled:
    if not pairs:
        raise TickdiskError("a quantile effect needs at least one pair of epochs; check that both arms have ticks")
    scale = np.log if ratio else np.asarray
    effects, drawn, lengths = [], [], []
    for index, pair in enumerate(pairs):
        series = [np.asarray(values, dtype=float) for values in pair]
        if min(values.size for values in series) < max(minimum_n(float(level)) for level in q):
            sizes = " and ".join(str(values.size) for values in series)
            raise TickdiskError(
                f"pair {index} has {sizes} ticks, too few for the quantiles {q.tolist()}; use longer epochs or quantiles "
                "nearer the middle"
            )
        own = [block_length(values) for values in series]
        lengths += own
        baseline, arm = (scale(np.quantile(values, q, method="median_unbiased")) for values in series)
        effects.append(arm - baseline)
        if len(pairs) >= _FEWEST_PAIRS:
            resampled = [_drawn_quantiles(values, length, q, samples, rng) for values, length in zip(series, own, strict=True)]
            drawn.append(scale(resampled[1]) - scale(resampled[0]))
    means = np.empty((0, q.size))
    if drawn:
        chosen = rng.integers(len(pairs), size=(samples, len(pairs)))
        means = np.stack(drawn)[chosen, np.arange(samples)[:, None]].mean(axis=1)
    return _Resampled(np.stack(effects), means, float(np.median(lengths)))


def _interval(resampled: _Resampled, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], str]:
    effects = resampled.effects
    centre, n = effects.mean(axis=0), effects.shape[0]
    if n < 2:  # noqa: PLR2004 - a variance needs two
        return centre, np.full(centre.shape, nan), np.full(centre.shape, nan), "one pair: no interval"
    error, method = effects.std(axis=0, ddof=1) / n**0.5, "studentised over pairs"
    if resampled.means.size:
        # Resampling n pairs shrinks the variance by (n - 1) / n; percentile and reflected intervals covered 87 to 91 %.
        error = resampled.means.std(axis=0, ddof=1) * (n / (n - 1)) ** 0.5
        method = "bootstrap over pairs and stationary blocks within, studentised"
    half = stats.t.ppf(1 - alpha / 2, n - 1) * error
    return centre, centre - half, centre + half, method


def quantile_effect(
    pairs: Sequence[Pair], q: float, *, rng: np.random.Generator, samples: int = 2000, alpha: float = 0.05
) -> QuantileEffect:
    """Returns the geometric mean over pairs of arm quantile / baseline quantile, values above 0, with its interval.

    From six pairs: the standard error of a bootstrap over pairs, then stationary blocks of ticks within each, with Student's
    quantile (percentiles of that bootstrap cover too little at such n, pooled ticks far too little); below: Student's interval.
    TickdiskError for no pair or an epoch with fewer ticks than the quantile needs.
    """
    resampled = _resample(pairs, np.array([q]), rng=rng, samples=samples, ratio=True)
    centre, low, high, method = _interval(resampled, alpha)
    return QuantileEffect(q, exp(centre[0]), exp(low[0]), exp(high[0]), len(pairs), resampled.length, method)


def shift_function(
    pairs: Sequence[Pair], q: ArrayLike = DECILES, *, rng: np.random.Generator, samples: int = 2000, alpha: float = 0.05
) -> Shift:
    """Returns the mean over pairs of arm quantile - baseline quantile in the values' unit, by default at the deciles.

    Doksum (1974), Rousselet, Pernet and Wilcox (2017); intervals as in `quantile_effect`, pointwise.
    """
    levels = np.asarray(q, dtype=float)
    centre, low, high, method = _interval(_resample(pairs, levels, rng=rng, samples=samples, ratio=False), alpha)
    return Shift(levels, centre, low, high, len(pairs), method)
