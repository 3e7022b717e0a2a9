"""Families of tests: p values adjusted for how many claims are tested together."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Returns p values of shape (..., claims), each family along the last axis adjusted by Holm (1979); all must be numbers.

    statsmodels has it for one family at a time, and collects garbage at every call, which takes a simulation minutes.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, axis=-1)
    claims = p.shape[-1]
    stepped = np.take_along_axis(p, order, axis=-1) * (claims - np.arange(claims))
    result = np.empty_like(p)
    np.put_along_axis(result, order, np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0), axis=-1)
    return result


def adjusted(p_values: ArrayLike, family: Literal["confirmatory", "scan"]) -> NDArray[np.float64]:
    """Returns p values adjusted within their family: confirmatory by Holm, scan by Benjamini and Hochberg (1995); NaN stay."""
    p = np.asarray(p_values, dtype=float)
    result, usable = np.full(p.shape, np.nan), np.isfinite(p)
    if usable.any():
        result[usable] = holm(p[usable]) if family == "confirmatory" else false_discovery_control(p[usable], method="bh")
    return result
