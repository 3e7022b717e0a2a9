"""The stationary bootstrap of a series: its block length, and the indices of its resamples."""

import numpy as np
from arch.bootstrap import optimal_block_length
from numpy.typing import ArrayLike, NDArray


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
