"""The generative model: requests and bytes of every routine, fitted to windows between saves and checked on other lives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, stats

from tickdisk.accesses.life import ROUTINES, Life, counts, events, kinds
from tickdisk.accesses.select import Granularity
from tickdisk.errors import TickdiskError

Matrix = NDArray[np.float64]
_LEAST, _TINY = 0.01, 1e-9
"""What a window is expected to hold at least, for its weight: this share of the mean."""


@dataclass(frozen=True)
class Coefficients:
    """What one event of a routine costs, each of shape (ROUTINES, data x op); NaN for a routine without an event."""

    value: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    """95 % interval over lives; NaN from one life."""
    lives: int
    windows: int


def design(lives: Sequence[Life], of: Granularity = "requests") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns events (windows, ROUTINES) and requests or bytes (windows, data x op) between saves, index (life, window).

    A kind of access that a life has not is 0 there. TickdiskError without a life.
    """
    if not lives:
        raise TickdiskError("the generative model needs at least one life; run more blocks")
    did = pd.concat({life.name: events(life) for life in lives}, names=["life", "window"])
    seen = pd.concat({life.name: counts(life.accesses, life.edges_ns, of) for life in lives}, names=["life", "window"])
    return did, seen.fillna(0.0).sort_index(axis=1)


def _nonnegative(did: Matrix, seen: Matrix, can: NDArray[np.bool_]) -> Matrix:
    """Least squares without negative coefficients (Lawson and Hanson 1974), each column of `seen` by the routines that can.

    Twice: the second time windows weigh as if counts varied as their means of the first do, or a few large flushes would decide.
    """
    values = np.zeros(can.shape)
    for routines, of, value in zip(can.T, seen.T, values.T, strict=True):
        weight = np.ones(len(of))
        for _ in range(2):
            value[routines] = optimize.nnls(did[:, routines] * weight[:, None], of * weight)[0]
            weight = 1 / np.sqrt(np.maximum(did @ value, _LEAST * of.mean() + _TINY))
    return values


def _can(seen: pd.DataFrame) -> NDArray[np.bool_]:
    return np.array([[data in of or f"{data} {op}" in of for data, op in kinds(seen)] for of in ROUTINES.values()])


def estimate(lives: Sequence[Life], of: Granularity = "requests") -> pd.DataFrame:
    """Returns the coefficients that explain the windows of `lives` best, shape (ROUTINES, data x op).

    None is negative; 0 where a routine cannot touch the data, NaN where it has no event.
    """
    did, seen = design(lives, of)
    values = _nonnegative(did.to_numpy(), seen.to_numpy(), _can(seen))
    return pd.DataFrame(values, index=list(ROUTINES), columns=seen.columns)[(did > 0).any()].reindex(list(ROUTINES))


def fit(
    lives: Sequence[Life], *, rng: np.random.Generator, samples: int = 2000, of: Granularity = "requests", alpha: float = 0.05
) -> Coefficients:
    """Returns the coefficients with their interval.

    Interval: the standard error of a bootstrap over lives with Student's quantile, cut at zero; percentiles cover too little with
    few lives. A routine that no drawn life has is 0 in that draw.
    """
    value, (did, seen), n = estimate(lives, of), design(lives, of), len(lives)
    if n == 1:
        unknown = value * np.nan
        return Coefficients(value, unknown, unknown, n, len(did))
    parts = [(did.loc[life.name].to_numpy(), seen.loc[life.name].to_numpy()) for life in lives]
    drawn = []
    for row in rng.integers(n, size=(samples, n)):
        chosen = [parts[index] for index in row]
        did_drawn, seen_drawn = (np.vstack(of) for of in zip(*chosen, strict=True))
        drawn.append(_nonnegative(did_drawn, seen_drawn, _can(seen)))
    error = np.std(drawn, axis=0, ddof=1) * (n / (n - 1)) ** 0.5
    half = float(stats.t.ppf(1 - alpha / 2, n - 1)) * error
    return Coefficients(value, (value - half).clip(lower=0), value + half, n, len(did))


def listed(coefficients: Coefficients) -> pd.DataFrame:
    """Returns routine, data, op, value, low, high of every coefficient above zero."""
    rows = [
        (routine, data, op, *(float(part.loc[routine, (data, op)]) for part in ends))
        for ends in ((coefficients.value, coefficients.low, coefficients.high),)
        for routine in coefficients.value.index
        for data, op in kinds(coefficients.value)
    ]
    table = pd.DataFrame(rows, columns=["routine", "data", "op", "value", "low", "high"])
    return table[table["value"] > 0].reset_index(drop=True)


def predict(coefficients: pd.DataFrame, life: Life, of: Granularity = "requests") -> pd.DataFrame:
    """Returns at_s (its end, from the first save), seconds, observed and predicted of every window between saves."""
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
    """Returns life, observed and predicted requests (or bytes) per minute between a life's first and last save, and error.

    error: predicted over observed, less one.
    """
    rows = []
    for life in lives:
        windows = predict(coefficients, life, of)
        minutes = windows["seconds"].sum() / 60
        rows.append((life.name, windows["observed"].sum() / minutes, windows["predicted"].sum() / minutes))
    table = pd.DataFrame(rows, columns=["life", "observed", "predicted"]).astype({"observed": float, "predicted": float})
    return table.assign(error=table["predicted"] / table["observed"] - 1)


def errors_in_turn(lives: Sequence[Life], of: Granularity = "requests") -> pd.DataFrame:
    """Returns the errors of each life when it is predicted from all the others; no rows with one life."""
    turns = [
        errors(estimate([other for other in lives if other is not life], of), [life], of)
        for life in (lives if len(lives) > 1 else ())
    ]
    return pd.concat(turns, ignore_index=True) if turns else errors(pd.DataFrame(), [], of)
