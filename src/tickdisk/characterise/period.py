"""Finds the period of bursts, such as that of a server which saves its world every 45 s."""

from dataclasses import dataclass

import numpy as np

from tickdisk.characterise.load import Load
from tickdisk.characterise.times import BINS, stretch_of

_SMOOTH = 5
"""Number of neighbouring bins that are averaged, so that bursts need not come at exactly the same distance."""
_LEAST_LAG = 8
_STRENGTH, _DIP = 0.5, 0.3


@dataclass(frozen=True)
class Period:
    """A period in which bursts of a load return."""

    op: str
    """Operation of the bursts: `read` or `write`."""
    period_s: float
    strength: float
    """Autocorrelation of the load at this time. It is 1 if each period is like the one before."""


def period(load: Load, op: str) -> Period | None:
    """Finds the period in which bursts of reads or of writes (`op`) return, or None if there is none.

    The time is divided into 2,048 bins. The period is the shortest time at which the autocorrelation of the square root of the
    bytes per bin has a peak of at least 0.5 that stands at least 0.3 above a valley before it, and that has such a value again at
    twice this time. It lies between 8 bins and a third of the time of the load. The square root keeps a single large burst from
    outweighing all others. Raises TickdiskError if the trace has no times or no sizes.
    """
    rows = load.having("at_ns", "bytes")
    whole_ns = float(rows["at_ns"].max())
    requests = rows[rows["op"] == op]
    if requests.empty or whole_ns <= 0:
        return None
    bins = stretch_of(requests["at_ns"].to_numpy(), whole_ns, BINS)
    correlation = _autocorrelation(np.bincount(bins, requests["bytes"].to_numpy(), BINS))
    lag = _first_peak(correlation)
    if lag is None:
        return None
    refined = _refined(correlation, lag)
    return Period(op, refined * whole_ns / 1e9 / BINS, float(correlation[lag]))


def _autocorrelation(amounts: np.ndarray) -> np.ndarray:
    """Returns the autocorrelation of a series over the lag, from 0 to two thirds of its length. It is 0 for a constant series."""
    series = np.convolve(np.sqrt(amounts), np.full(_SMOOTH, 1 / _SMOOTH), mode="same")
    series -= series.mean()
    spectrum = np.fft.rfft(series, 2 * len(series))
    lags = np.arange(2 * len(series) // 3)
    product = np.fft.irfft(np.abs(spectrum) ** 2)[lags] / (len(series) - lags)
    return product / product[0] if product[0] > 0 else np.zeros_like(product)


def _first_peak(correlation: np.ndarray) -> int | None:
    for lag in range(_LEAST_LAG, len(correlation) // 2):
        around = correlation[lag - _SMOOTH : lag + _SMOOTH + 1]
        if correlation[lag] < _STRENGTH or correlation[lag] < around.max():
            continue
        again = correlation[2 * lag - _SMOOTH : 2 * lag + _SMOOTH + 1]
        if again.max() >= _STRENGTH and correlation[1:lag].min() <= correlation[lag] - _DIP:
            return lag
    return None


def _refined(correlation: np.ndarray, lag: int) -> float:
    """Returns the period in bins, from the peak at its largest multiple, at which an error of one bin counts the least."""
    refined = float(lag)
    for multiple in range(2, len(correlation) // lag):
        near = round(multiple * refined)
        around = correlation[near - _SMOOTH : near + _SMOOTH + 1]
        if len(around) == 0 or around.max() < _STRENGTH:
            break
        refined = (near - _SMOOTH + int(around.argmax())) / multiple
    return refined
