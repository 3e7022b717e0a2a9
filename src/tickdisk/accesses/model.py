"""Fits the generative model to the windows between the saves of some lives, and measures its errors on others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize

from tickdisk.accesses.life import ROUTINES, Life, counts, events, kinds
from tickdisk.accesses.select import Granularity
from tickdisk.foundation.errors import TickdiskError
from tickdisk.stats import half_length

Matrix = NDArray[np.float64]
_LEAST, _TINY = 0.01, 1e-9
"""Lower limit of the expected count of a window for its weight: a share of the mean count, and a constant that is added to it."""


@dataclass(frozen=True)
class Coefficients:
    """The generative model that `fit` fits: the requests or bytes that one event of each routine of the server costs.

    The tables have one row per routine of `ROUTINES` and one column per (data, op). The row of a routine without an event is NaN.
    """

    value: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    """Upper ends of the intervals over lives, and `low` the lower ends, at confidence 1 - alpha of `fit`. NaN for one life."""
    lives: int
    windows: int
    """Number of windows between saves in the lives that the model was fitted to."""


def design(lives: Sequence[Life], of: Granularity = "requests") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the events and the accesses of all windows between saves, to which `estimate` and `fit` fit the model.

    The first table has the number of events, with one column per routine, and the second the requests or bytes, with one column
    per (data, op). Both have one row per window, indexed by life and window. If a life has no access of a kind, the count is 0.
    Raises TickdiskError if there is no life.
    """
    if not lives:
        raise TickdiskError("the generative model needs at least one life; run more blocks")
    did = pd.concat({life.name: events(life) for life in lives}, names=["life", "window"])
    seen = pd.concat({life.name: counts(life.accesses, life.edges_ns, of) for life in lives}, names=["life", "window"])
    return did, seen.fillna(0.0).sort_index(axis=1)


def _nonnegative(did: Matrix, seen: Matrix, can: NDArray[np.bool_]) -> Matrix:
    """Returns non-negative least-squares coefficients (Lawson and Hanson 1974), of shape (routines, kinds of access).

    Each column of `seen` is explained by the routines that `can` cause it, shape (routines, kinds of access). There are two fits.
    In the second fit, the variance of a window's count is taken to be proportional to its mean according to the first fit,
    because otherwise a few large flushes would decide.
    """
    values = np.zeros(can.shape)
    for routines, of, value in zip(can.T, seen.T, values.T, strict=True):
        weight = np.ones(len(of))
        for _ in range(2):
            value[routines] = optimize.nnls(did[:, routines] * weight[:, None], of * weight)[0]
            weight = 1 / np.sqrt(np.maximum(did @ value, _LEAST * of.mean() + _TINY))
    return values


def _can(seen: pd.DataFrame) -> NDArray[np.bool_]:
    """Returns whether each routine can make each kind of access, shape (routines, kinds of access)."""
    return np.array([[data in of or f"{data} {op}" in of for data, op in kinds(seen)] for of in ROUTINES.values()])


def estimate(lives: Sequence[Life], of: Granularity = "requests") -> pd.DataFrame:
    """Estimates the cost of one event of each routine by weighted least squares over the windows between saves.

    There is one row per routine of `ROUTINES` and one column per (data, op), in requests or bytes (`of`). No coefficient is
    negative. It is 0 if the routine cannot access the data, and NaN if the routine has no event.
    """
    did, seen = design(lives, of)
    values = _nonnegative(did.to_numpy(), seen.to_numpy(), _can(seen))
    return pd.DataFrame(values, index=list(ROUTINES), columns=seen.columns)[(did > 0).any()].reindex(list(ROUTINES))


def fit(
    lives: Sequence[Life], *, rng: np.random.Generator, samples: int = 2000, of: Granularity = "requests", alpha: float
) -> Coefficients:
    """Estimates the cost of one event of each routine in requests or bytes (`of`), with intervals over lives (confidence 1 -
    alpha).

    The half width of an interval is the standard error of a bootstrap over lives times Student's quantile, and the interval ends
    at zero. Intervals of bootstrap percentiles cover too little if there are few lives. If no drawn life has an event of a
    routine, its coefficients are 0 in that sample. The intervals of a single life are NaN.
    """
    value, (did, seen), n = estimate(lives, of), design(lives, of), len(lives)
    if n == 1:
        unknown = value * np.nan
        return Coefficients(value, unknown, unknown, n, len(did))
    parts = [(did.loc[life.name].to_numpy(), seen.loc[life.name].to_numpy()) for life in lives]
    drawn = []
    for row in rng.integers(n, size=(samples, n)):
        drawn_lives = [parts[index] for index in row]
        did_drawn, seen_drawn = (np.vstack(of) for of in zip(*drawn_lives, strict=True))
        drawn.append(_nonnegative(did_drawn, seen_drawn, _can(seen)))
    error = np.std(drawn, axis=0, ddof=1) * (n / (n - 1)) ** 0.5
    half = half_length(error, n, alpha)
    return Coefficients(value, (value - half).clip(lower=0), value + half, n, len(did))


def nonzero_coefficients(coefficients: Coefficients) -> pd.DataFrame:
    """Lists the coefficients above zero, with the columns routine, data, op, value, low and high."""
    rows = [
        (routine, data, op, *(float(part.loc[routine, (data, op)]) for part in ends))
        for ends in ((coefficients.value, coefficients.low, coefficients.high),)
        for routine in coefficients.value.index
        for data, op in kinds(coefficients.value)
    ]
    table = pd.DataFrame(rows, columns=["routine", "data", "op", "value", "low", "high"])
    return table[table["value"] > 0].reset_index(drop=True)


def predict(coefficients: pd.DataFrame, life: Life, of: Granularity = "requests") -> pd.DataFrame:
    """Predicts the requests or bytes of every window between the saves of a life from the events in it.

    The coefficients are those of `estimate` for the same `of`, and NaN counts as 0. There is one row per window, with at_s (its
    end, counted from the end of the first save), seconds (its length), observed and predicted. The last two are sums over all
    kinds of accesses.
    """
    did, seen = design([life], of)
    return pd.DataFrame(
        {
            "at_s": (life.edges_ns[1:] - life.edges_ns[0]) / 1e9,
            "seconds": np.diff(life.edges_ns) / 1e9,
            "observed": seen.sum(axis=1).to_numpy(),
            "predicted": did.to_numpy() @ coefficients.fillna(0.0).sum(axis=1).to_numpy(),
        }
    )


def errors(coefficients: pd.DataFrame, lives: Sequence[Life], of: Granularity = "requests") -> pd.DataFrame:
    """Measures for each life how far the requests or bytes that the model predicts are from those that were observed.

    The lives should not be among those that the coefficients (of `estimate`) come from. The columns are life (its name), observed
    and predicted (requests or bytes per minute between the first and the last save) and error (predicted over observed, less 1).
    """
    rows = []
    for life in lives:
        windows = predict(coefficients, life, of)
        minutes = windows["seconds"].sum() / 60
        rows.append((life.name, windows["observed"].sum() / minutes, windows["predicted"].sum() / minutes))
    table = pd.DataFrame(rows, columns=["life", "observed", "predicted"]).astype({"observed": float, "predicted": float})
    return table.assign(error=table["predicted"] / table["observed"] - 1)


def errors_in_turn(lives: Sequence[Life], of: Granularity = "requests") -> pd.DataFrame:
    """Measures the `errors` of the model for each life if it is fitted to all other lives. A single life has no row."""
    turns = [
        errors(estimate([rest for rest in lives if rest is not life], of), [life], of)
        for life in (lives if len(lives) > 1 else ())
    ]
    return pd.concat(turns, ignore_index=True) if turns else errors(pd.DataFrame(), [], of)
