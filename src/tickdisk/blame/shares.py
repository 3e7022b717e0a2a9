"""Computes the shares of busy time and of late time that storage and other causes explain, over server lives, with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk import stats
from tickdisk.blame.attribute import CAUSES, Blame
from tickdisk.blame.lanes import Integers
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TickCause, TimeKind

FEWEST_LIVES = 6
"""Number of server lives below which an interval says little about server lives that were not run."""
_ONE_CAPTURE_NOTE = "from this capture alone, which says nothing of another hour"
_PARTS = ("data", "file", "routine")


def shares(
    blames: Sequence[Blame],
    *,
    rng: np.random.Generator,
    samples: int = 2000,
    alpha: float,
    without: Sequence[pd.DataFrame | None] | None = None,
) -> pd.DataFrame:
    """Computes which shares of the late time, and of the time in which the thread was not asleep, go to storage and other causes.

    The late time of a tick that storage explains is divided among the tick's waits for storage in proportion to their length. The
    interval comes from a stationary block bootstrap over the ticks of each server life and then over the server lives. It is
    studentised if there are two or more server lives. If there is one, it has the percentiles of the samples, which say nothing
    about other server lives.

    Parameters
    ----------
    blames
        One blame per server life, or one of a capture.
    rng, samples
        Source of randomness and number of samples of the bootstrap.
    alpha
        One minus the probability with which an interval covers its share.
    without
        For each blame, a table of intervals (start_ns, end_ns), or None. Ticks that overlap an interval do not count.

    Returns
    -------
    DataFrame
        One row per part of the time.

        - of: `busy` for the time in which the thread did not sleep, or `late` for the late time.
        - by: `all` for storage as a whole, `cause` for all causes of late time, or `data`, `file` or `routine` for a division of
          the waits for storage by the type of data, the file, or what the thread did (such as a read behind a lock).
        - name: the part's name. It is `storage` if `by` is `all`.
        - share, low, high: the part's share of the time, with its interval; NaN if there is no such time.
        - ticks, lives: the numbers of ticks and of blames that count, the same in every row.
        - note: what limits the interval, or an empty text; the same in every row.

    Raises
    ------
    TickdiskError
        If no tick is left.
    """
    spared = [None] * len(blames) if without is None else without
    lives = [_life(blame, table) for blame, table in zip(blames, spared, strict=True)]
    named: list[Any] = [column for life in lives for column in life]
    columns: list[tuple[str, str, str]] = list(dict.fromkeys(named))
    values = [life.reindex(columns=columns, fill_value=0).to_numpy(float) for life in lives if len(life)]
    if not values:
        raise TickdiskError("no tick is left to explain; leave fewer intervals out")
    at = {column: number for number, column in enumerate(columns)}
    below = np.array([at[base, "", ""] for base, _, _ in columns])
    total = np.sum([life.sum(axis=0) for life in values], axis=0)
    means = _resampled(values, [at["late", "", ""], at["busy", "", ""]], rng, samples)
    share, low, high = np.full((3, len(columns)), np.nan)
    some = total[below] > 0
    share[some], drawn = _ratio(total, below)[some], _ratio(means, below)[:, some]
    low[some], high[some] = _interval(share[some], drawn, len(values), alpha)
    few = f"{len(values)} of the {FEWEST_LIVES} lives that an interval over lives needs"
    note = "" if len(values) >= FEWEST_LIVES else few if blames[0].evidence.tells_ticks else _ONE_CAPTURE_NOTE
    rows = [(*column, *numbers) for column, *numbers in zip(columns, share, low, high, strict=True) if column[1]]
    table = pd.DataFrame(rows, columns=["of", "by", "name", "share", "low", "high"])
    return table.assign(ticks=sum(map(len, values)), lives=len(values), note=note)


def _is_known(cause: str, blame: Blame) -> bool:
    """Returns whether the evidence can tell a cause. Not every runtime tells its pauses."""
    pauses = blame.evidence.pauses
    return cause != TickCause.PAUSE or (pauses is not None and not pauses.empty)


def _life(blame: Blame, without: pd.DataFrame | None) -> pd.DataFrame:
    """Returns the time of each part in each tick in ns, with one row per tick and one column per (of, by, name).

    The columns with an empty `by` and `name` have the whole times, by which the parts are divided.
    """
    ticks = blame.ticks
    busy_ns, storage_ns = ticks["gap_ns"] - ticks["sleep_ns"], ticks["storage_ns"]
    columns: dict[tuple[str, str, str], Integers] = {
        ("busy", "", ""): busy_ns.to_numpy(),
        ("late", "", ""): ticks["late_ns"].to_numpy(),
        ("busy", "all", "storage"): storage_ns.to_numpy(),
        ("late", "all", "storage"): ticks["late_storage_ns"].to_numpy(),
        **{("late", "cause", cause): ticks[f"late_{cause}_ns"].to_numpy() for cause in CAUSES if _is_known(cause, blame)},
    }
    io = blame.links[blame.links["kind"] == TimeKind.IO]
    row = pd.Series(np.arange(len(ticks)), index=ticks["tick"])[io["tick"]].to_numpy()
    scale = (ticks["late_storage_ns"] / storage_ns.where(storage_ns > 0, 1)).to_numpy()
    for by in _PARTS:
        for name, waits in io.assign(row=row).groupby(io[by].where(io[by] != "", "unknown")):
            ns = np.bincount(waits["row"], weights=waits["ns"], minlength=len(ticks))
            columns["busy", by, str(name)], columns["late", by, str(name)] = ns, ns * scale
    table = pd.DataFrame(columns)
    table.columns = table.columns.to_flat_index()
    return table[~overlapping(ticks, without)] if without is not None else table


def overlapping(ticks: pd.DataFrame, intervals: pd.DataFrame) -> NDArray[np.bool_]:
    """Returns for each tick whether it overlaps any of the intervals, such as an injected stall. An end does not belong to it."""
    start = ticks["start_ns"].to_numpy()[:, None]
    end = start + ticks["gap_ns"].to_numpy()[:, None]
    overlaps: NDArray[np.bool_] = ((intervals["start_ns"].to_numpy() < end) & (intervals["end_ns"].to_numpy() > start)).any(
        axis=1
    )
    return overlaps


def _resampled(
    lives: Sequence[NDArray[np.float64]], series: Sequence[int], rng: np.random.Generator, samples: int
) -> NDArray[np.float64]:
    """Returns sums over resampled ticks of resampled lives, shape (samples, columns)."""
    drawn = []
    for life in lives:
        length = max(stats.block_length(life[:, column]) for column in series)
        index = stats.stationary_indices(len(life), length, samples, rng)
        times = np.bincount((index + len(life) * np.arange(samples)[:, None]).ravel(), minlength=index.size).reshape(index.shape)
        drawn.append(times @ life)
    life_of_draw = rng.integers(len(lives), size=(samples, len(lives)))
    sums: NDArray[np.float64] = np.stack(drawn)[life_of_draw, np.arange(samples)[:, None]].sum(axis=1)
    return sums


def _ratio(sums: NDArray[np.float64], below: Integers) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / sums[..., below]


def _interval(
    share: NDArray[np.float64], drawn: NDArray[np.float64], lives: int, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if lives == 1:
        low, high = np.nanquantile(drawn, [alpha / 2, 1 - alpha / 2], axis=0)
        return low, high
    # As in tickdisk.stats, percentiles would cover too little, since resampling n lives shrinks the variance by (n - 1) / n.
    error = np.nanstd(drawn, axis=0, ddof=1) * (lives / (lives - 1)) ** 0.5
    half = stats.half_length(error, lives, alpha)
    return np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
