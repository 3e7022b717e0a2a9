"""The stationary bootstrap of a series: its block length, and the indices of its resamples."""

import numpy as np
from arch.bootstrap import optimal_block_length
from numpy.typing import ArrayLike, NDArray


def block_length(values: ArrayLike) -> float:
    """Estimates the mean block length with which `stationary_indices` keeps the correlation in a series, from 1 to a third of it.

    It is 1 for a constant series and for one of fewer than 8 values.
    """
    series = np.asarray(values, dtype=float)
    if series.size < 8 or np.ptp(series) == 0:  # noqa: PLR2004 - too short for an autocorrelation
        return 1.0
    # A correlation is infinite at lags as long as a short series, or if only the beginning of the series varies. The estimator
    # looks for small correlations, and an infinite one is rightly not small, so the warnings of numpy do not matter.
    with np.errstate(divide="ignore", invalid="ignore"):
        length = float(optimal_block_length(series)["stationary"].iloc[0])
    return min(max(length, 1.0), series.size / 3) if np.isfinite(length) else 1.0


def stationary_indices(n: int, mean_length: float, samples: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draws the indices of resamples of a correlated series, shape (samples, n), by the stationary bootstrap (Politis and Romano
    1994).

    A resample consists of blocks that begin at random places, have geometrically distributed lengths with the mean `mean_length`,
    and wrap around at the end.
    """
    fresh = rng.random((samples, n)) < 1 / mean_length
    fresh[:, 0] = True
    starts = rng.integers(n, size=(samples, n))
    position = np.arange(n)
    since = np.maximum.accumulate(np.where(fresh, position, 0), axis=1)
    return (np.take_along_axis(starts, since, axis=1) + position - since) % n
