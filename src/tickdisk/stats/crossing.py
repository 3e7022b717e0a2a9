"""Good enough: the latency from which a metric exceeds its baseline by a margin, without a curve assumed."""

from dataclasses import dataclass
from math import inf, log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from tickdisk.errors import TickdiskError

_FEWEST_BLOCKS = 6
"""Below six blocks a percentile bootstrap over blocks is too narrow and is not given."""


@dataclass(frozen=True)
class Crossing:
    """A dose with its interval; infinite where the highest dose does not reach the margin, NaN ends below six blocks."""

    dose: float
    low: float
    high: float
    blocks: int


def dose_for_margin(
    dose: ArrayLike,
    response: ArrayLike,
    block: ArrayLike,
    *,
    margin: float,
    rng: np.random.Generator,
    samples: int = 2000,
    alpha: float = 0.05,
) -> Crossing:
    """Returns the dose from which a positive metric exceeds its value at the lowest dose by `margin`; arguments of shape (n,).

    Ratios to the lowest dose are paired within blocks, their means over blocks made monotone (isotonic regression), and between
    two doses the ratio rises along a line: a server that sleeps out its step hides the first milliseconds in its slack, which no
    straight line through all doses shows. The interval is a percentile bootstrap over blocks. TickdiskError when there is no
    second dose, or no block with the lowest one.
    """
    doses, column = np.unique(np.asarray(dose, dtype=float), return_inverse=True)
    labels, row = np.unique(np.asarray(block), return_inverse=True)
    logs = np.full((labels.size, doses.size), nan)
    logs[row, column] = np.log(np.asarray(response, dtype=float))
    ratios = (logs - logs[:, :1])[np.isfinite(logs[:, 0])]
    if doses.size < 2 or ratios.shape[0] == 0 or not np.isfinite(ratios).any(axis=0).all():  # noqa: PLR2004 - a baseline and a dose
        raise TickdiskError("good enough needs two doses that stand in a block with the lowest one; run more cycles")
    found = _crossing(ratios, doses, margin)
    blocks = ratios.shape[0]
    low = high = nan
    if blocks >= _FEWEST_BLOCKS:
        drawn = rng.integers(blocks, size=(samples, blocks))
        ends = np.array([_crossing(ratios[rows], doses, margin) for rows in drawn])
        low, high = np.quantile(ends, (alpha / 2, 1 - alpha / 2), method="inverted_cdf")
    return Crossing(found, float(low), float(high), blocks)


def _crossing(ratios: NDArray[np.float64], doses: NDArray[np.float64], margin: float) -> float:
    there = np.isfinite(ratios)
    counts = there.sum(axis=0)
    known = counts > 0
    means = np.where(there, ratios, 0).sum(axis=0)[known] / counts[known]
    level, at = np.exp(isotonic_regression(means, weights=counts[known]).x), doses[known]
    wanted = 1 + margin
    over = np.flatnonzero(np.log(level) > log(wanted))
    if over.size == 0:
        return inf
    after = int(over[0])
    if after == 0:
        return float(at[0])
    share = (wanted - level[after - 1]) / (level[after] - level[after - 1])
    return float(at[after - 1] + share * (at[after] - at[after - 1]))
