"""Metrics of the ticks of a server in a window of time."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.foundation.numbers import NS_PER_MS
from tickdisk.stats import estimate

OVER_BUDGET = 1.05
"""Budgets above which a gap counts as over the budget. It is more than 1, because a step that sleeps wakes up a little late."""
LATE = 2.0
"""Number of budgets from which the tick that ends a gap is late. A gap of two budgets has room for a tick that did not come."""


@dataclass(frozen=True)
class TickMetrics:
    """The metrics of the ticks that started in a window. A value that cannot be estimated is None.

    A gap runs from the start of one tick to the start of the next. It belongs whole to the window in which it starts, so that a
    gap across the end of a window counts once. If no tick starts in a window, the gap that covers the window stands for all of
    it. A gap across missing ticks stays one gap, because players experienced one gap.
    """

    n: int
    """Number of gaps."""
    gap_mean_ms: float | None
    """Mean length of the gaps. The fields after it are percentiles of their lengths."""
    gap_p50_ms: float | None
    gap_p95_ms: float | None
    gap_p99_ms: float | None
    gap_max_ms: float | None
    over_budget_share: float | None
    """Share of gaps that are more than 5 % over the budget, which is the intended time from one tick to the next."""
    instability_ratio: float | None
    """Meterstick's Instability Ratio, from 0 for a steady server to 1 (see `instability_ratio`)."""
    tps: float | None
    """Ticks that started per second of the window."""
    busy_n: int
    """Number of ticks whose end is known. A server reports the end of all ticks or of none."""
    mspt_min_ms: float | None
    mspt_p50_ms: float | None
    mspt_p95_ms: float | None
    mspt_max_ms: float | None
    """Longest time from the start to the end of a tick (MSPT), with the shortest and percentiles before it."""
    missing: int
    """Number of tick numbers that were skipped."""
    duplicate: int
    """Number of rows whose tick number had occurred before."""
    late: int


def instability_ratio(gap: NDArray[np.float64], budget: float) -> float | None:
    """Computes Meterstick's Instability Ratio (Eickhoff, Donkervliet and Iosup 2023), which says how irregular ticks are.

    The ratio is sum |max(b, t_i) - max(b, t_i-1)| / (2 b N) for gaps t in order of time, the budget b in the same unit, and N =
    sum(max(b, t)) / b expected ticks. It is 0 if every gap is equal, and approaches 1 if ever longer gaps alternate with short
    ones. A gap within the budget counts as the budget, because the server sleeps for the rest. None for fewer than two gaps.

    >>> instability_ratio(np.array([50.0, 150.0]), 50.0)
    0.25
    """
    if gap.size < 2:  # noqa: PLR2004 - a change needs two
        return None
    bounded = np.maximum(gap, budget)
    return float(np.abs(np.diff(bounded)).sum() / (2 * bounded.sum()))


def gaps(ticks: pd.DataFrame) -> pd.DataFrame:
    """Lists all tick gaps of a server life in order of time, from a table with the columns tick (number) and start_ns.

    The columns are tick and start_ns of the tick that begins the gap, gap_ms, and skipped (the tick numbers that are missing
    between the two ticks).
    """
    # A tick that was logged twice counts once, with its first row.
    ordered = ticks.drop_duplicates("tick").sort_values("start_ns", kind="stable")
    starts = ordered["start_ns"].to_numpy(dtype="int64")
    numbers = ordered["tick"].to_numpy(dtype="int64")
    return pd.DataFrame(
        {"tick": numbers[:-1], "start_ns": starts[:-1], "gap_ms": np.diff(starts) / NS_PER_MS, "skipped": np.diff(numbers) - 1}
    )


def gaps_between(ticks: pd.DataFrame, start_ns: int, end_ns: int) -> pd.DataFrame:
    """Returns the `gaps` of the table `ticks` that start in [start_ns, end_ns).

    If there is none, the result is the gap that covers this window. The columns are those of `gaps`.
    """
    all_gaps = gaps(ticks)
    inside = all_gaps[(all_gaps["start_ns"] >= start_ns) & (all_gaps["start_ns"] < end_ns)]
    if inside.empty:
        end_of_gap_ns = all_gaps["start_ns"] + all_gaps["gap_ms"] * NS_PER_MS
        inside = all_gaps[(all_gaps["start_ns"] < start_ns) & (end_of_gap_ns >= end_ns)]
    return inside.reset_index(drop=True)


def gaps_ms(ticks: pd.DataFrame, start_ns: int, end_ns: int) -> NDArray[np.float64]:
    """Returns an array of the lengths in ms of the gaps of `gaps_between`, in order of time."""
    return gaps_between(ticks, start_ns, end_ns)["gap_ms"].to_numpy(dtype="float64")


def tick_metrics(ticks: pd.DataFrame, start_ns: int, end_ns: int, budget_ns: int) -> TickMetrics:
    """Computes the metrics of the ticks that started in [start_ns, end_ns), in ns of CLOCK_MONOTONIC.

    `ticks` has the columns tick (number), start_ns and end_ns. `budget_ns` is the intended time from the start of one tick to the
    start of the next.
    """
    window = ticks[(ticks["start_ns"] >= start_ns) & (ticks["start_ns"] < end_ns)]
    numbers = np.unique(window["tick"].to_numpy(dtype="int64"))
    inside = gaps_between(ticks, start_ns, end_ns)
    gap = inside["gap_ms"].to_numpy(dtype="float64")
    once = window.drop_duplicates("tick")
    busy = (once["end_ns"] - once["start_ns"]).dropna().to_numpy("float64") / NS_PER_MS
    budget = budget_ns / NS_PER_MS
    some, any_busy = gap.size > 0, busy.size > 0
    return TickMetrics(
        n=gap.size,
        gap_mean_ms=float(gap.mean()) if some else None,
        gap_p50_ms=estimate(gap, 0.5),
        gap_p95_ms=estimate(gap, 0.95),
        gap_p99_ms=estimate(gap, 0.99),
        gap_max_ms=float(gap.max()) if some else None,
        over_budget_share=float(np.mean(gap > OVER_BUDGET * budget)) if some else None,
        instability_ratio=instability_ratio(gap, budget),
        tps=numbers.size / ((end_ns - start_ns) / 1e9) if numbers.size else None,
        busy_n=busy.size,
        mspt_min_ms=float(busy.min()) if any_busy else None,
        mspt_p50_ms=estimate(busy, 0.5),
        mspt_p95_ms=estimate(busy, 0.95),
        mspt_max_ms=float(busy.max()) if any_busy else None,
        missing=int(inside["skipped"].clip(lower=0).sum()),
        duplicate=len(window) - numbers.size,
        late=int(np.sum(gap >= LATE * budget)),
    )
