"""Dose-response: what each further millisecond, and each tenfold, of storage latency does to a metric."""

from dataclasses import dataclass
from math import exp, isnan, nan

import numpy as np
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tickdisk.errors import TickdiskError

_FEWEST_BLOCKS = 6
"""Below six blocks a percentile bootstrap over blocks is too narrow (76 % at n = 3, 83 % at n = 5) and is not given."""


@dataclass(frozen=True)
class Slope:
    """A coefficient with its HC3 interval and p (MacKinnon and White 1985), and the interval of a bootstrap over blocks."""

    value: float
    low: float
    high: float
    p: float
    blocks_low: float
    blocks_high: float


@dataclass(frozen=True)
class DoseResponse:
    """Two fits with block fixed effects: additive (the curve) and log-log.

    The additive one is the model of a server that waits k times a tick for its storage: metric = block + k x latency.
    """

    per_ms: Slope
    """Units of the response per millisecond of latency."""
    per_decade: Slope
    """Factor on the response per tenfold of latency."""
    r_squared: float
    """Share of the within-block variance that the additive fit explains."""
    r_squared_log: float
    """The same for the log-log fit."""
    n: int
    blocks: int
    at_ms: NDArray[np.float64]
    fitted: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """Additive fit for the average block at the doses `at_ms`, and its pointwise interval, shape (len(at_ms),)."""


@dataclass(frozen=True)
class _Fit:
    slope: Slope
    r_squared: float
    parameters: NDArray[np.float64]
    covariance: NDArray[np.float64]
    critical: float


def _fit(
    dose: NDArray[np.float64],
    response: NDArray[np.float64],
    codes: NDArray[np.intp],
    *,
    rng: np.random.Generator,
    samples: int,
    alpha: float,
) -> _Fit:
    blocks = int(codes.max()) + 1
    counts = np.bincount(codes)
    x = dose - (np.bincount(codes, dose) / counts)[codes]
    y = response - (np.bincount(codes, response) / counts)[codes]
    # Block columns sum to zero, so that the constant is the average block's.
    dummies = (codes[:, None] == np.arange(1, blocks)) - (codes[:, None] == 0).astype(float)
    fitted = sm.OLS(response, np.column_stack([np.ones(dose.size), dose, dummies])).fit()
    df = float(fitted.df_resid)
    covariance = np.asarray(fitted.cov_HC3)
    slope, error = float(fitted.params[1]), float(covariance[1, 1]) ** 0.5
    critical = float(stats.t.ppf(1 - alpha / 2, df))
    p = 2 * float(stats.t.sf(abs(slope) / error, df)) if error > 0 else (nan if isnan(error) else float(slope == 0))
    low = high = nan
    if blocks >= _FEWEST_BLOCKS:
        drawn = rng.integers(blocks, size=(samples, blocks))
        ratios = np.bincount(codes, x * y)[drawn].sum(axis=1) / np.bincount(codes, x * x)[drawn].sum(axis=1)
        low, high = (float(end) for end in np.quantile(ratios, (alpha / 2, 1 - alpha / 2)))
    total = float(y @ y)
    r_squared = 1 - float(np.sum((y - slope * x) ** 2)) / total if total > 0 else nan
    return _Fit(
        Slope(slope, slope - critical * error, slope + critical * error, p, low, high),
        r_squared,
        np.asarray(fitted.params[:2]),
        covariance[:2, :2],
        critical,
    )


def dose_response(
    dose_ms: ArrayLike,
    response: ArrayLike,
    block: ArrayLike,
    *,
    at_ms: ArrayLike,
    rng: np.random.Generator,
    samples: int = 2000,
    alpha: float = 0.05,
) -> DoseResponse:
    """Returns the dose-response of a positive metric, one value a run or epoch, all arguments of shape (n,) but `at_ms`.

    `block` labels the cycle or block that a value is paired within. TickdiskError for a dose or response that is not positive
    and finite (pass realised latencies: a device at its floor is not at 0), below two blocks, or two doses in a block.
    """
    dose, metric = np.asarray(dose_ms, dtype=float), np.asarray(response, dtype=float)
    labels, codes = np.unique(np.asarray(block), return_inverse=True)
    bad = np.flatnonzero(~(np.isfinite(dose) & np.isfinite(metric) & (dose > 0) & (metric > 0)))
    if bad.size:
        raise TickdiskError(
            f"dose-response value {bad[0]}: dose {dose[bad[0]]} ms, response {metric[bad[0]]}; both must be positive and finite, "
            "so pass realised latencies and leave out epochs whose metric is not estimable"
        )
    lone = [str(label) for index, label in enumerate(labels) if np.unique(dose[codes == index]).size < 2]  # noqa: PLR2004
    if len(labels) < 2 or lone:  # noqa: PLR2004 - two points make a line, two blocks a spread
        raise TickdiskError(
            f"dose-response needs two blocks with two doses each; {len(labels)} blocks, too few doses in "
            f"{', '.join(lone) or 'none'}; run more blocks"
        )
    additive = _fit(dose, metric, codes, rng=rng, samples=samples, alpha=alpha)
    logs = _fit(np.log10(dose), np.log(metric), codes, rng=rng, samples=samples, alpha=alpha)
    log_slope = logs.slope
    decade = Slope(
        exp(log_slope.value),
        exp(log_slope.low),
        exp(log_slope.high),
        log_slope.p,
        exp(log_slope.blocks_low),
        exp(log_slope.blocks_high),
    )
    at = np.asarray(at_ms, dtype=float)
    design = np.column_stack([np.ones(at.size), at])
    fitted = design @ additive.parameters
    error = additive.critical * np.sqrt(np.einsum("ij,jk,ik->i", design, additive.covariance, design))
    return DoseResponse(
        additive.slope,
        decade,
        additive.r_squared,
        logs.r_squared,
        dose.size,
        len(labels),
        at,
        fitted,
        fitted - error,
        fitted + error,
    )
