"""What the ticks of a stretch of time were like."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.stats import quantile

NS_PER_MS = 1e6
OVER_BUDGET = 1.05
"""A sleeping step wakes a little after its time; only a gap 5 % beyond the budget counts as over it."""
LATE = 2.0
"""A gap of two budgets has room for a tick that did not come: the one that ends it is late."""


@dataclass(frozen=True)
class TickMetrics:
    """Metrics of the ticks that started in a window; None where they cannot be estimated.

    A gap runs from the start of one tick to the start of the next one and belongs whole to the window in which it starts, so that
    one that straddles the end counts once. In a window in which no tick starts the gap that covers it stands for all of it. A gap
    across missing ticks stays one gap: for players it was one.
    """

    n: int
    """Gaps."""
    gap_mean_ms: float | None
    gap_p50_ms: float | None
    gap_p95_ms: float | None
    gap_p99_ms: float | None
    gap_max_ms: float | None
    """Longest stall."""
    over_budget_share: float | None
    """Share of gaps more than 5 % over the budget."""
    instability_ratio: float | None
    """Meterstick's ISR (Eickhoff, Donkervliet and Iosup 2023), 0 steady to 1: see `instability_ratio`."""
    tps: float | None
    """Ticks that started per second of the window."""
    busy_n: int
    """Ticks with an end: all or none, by server."""
    mspt_min_ms: float | None
    mspt_p50_ms: float | None
    mspt_p95_ms: float | None
    mspt_max_ms: float | None
    """Start to end, in operators' words milliseconds per tick."""
    missing: int
    """Tick numbers that were skipped."""
    duplicate: int
    """Rows whose tick number was there before."""
    late: int
    """Gaps of at least two budgets."""


def instability_ratio(gap: NDArray[np.float64], budget: float) -> float | None:
    """Returns sum |max(b, t_i) - max(b, t_i-1)| / (2 b N) for gaps t in order, budget b, N = sum(max(b, t)) / b expected ticks.

    Meterstick's Instability Ratio: 0 when every tick is equal, towards 1 when ever longer ticks alternate with short ones; a tick
    within the budget counts as the budget, since the server sleeps for the rest. None below two gaps.
    """
    if gap.size < 2:  # noqa: PLR2004 - a change needs two
        return None
    bounded = np.maximum(gap, budget)
    return float(np.abs(np.diff(bounded)).sum() / (2 * bounded.sum()))


def gaps(ticks: pd.DataFrame) -> pd.DataFrame:
    """Returns all gaps in order of time: tick and start_ns of the tick before, gap_ms, and skipped, the tick numbers left out."""
    # A tick that was logged twice is one tick: its first row counts.
    ordered = ticks.drop_duplicates("tick").sort_values("start_ns", kind="stable")
    starts = ordered["start_ns"].to_numpy(dtype="int64")
    numbers = ordered["tick"].to_numpy(dtype="int64")
    return pd.DataFrame(
        {"tick": numbers[:-1], "start_ns": starts[:-1], "gap_ms": np.diff(starts) / NS_PER_MS, "skipped": np.diff(numbers) - 1}
    )


def gaps_between(ticks: pd.DataFrame, start_ns: int, end_ns: int) -> pd.DataFrame:
    """Returns the `gaps` that start in [start_ns, end_ns); if none does, the one that covers that time."""
    found = gaps(ticks)
    own = found[(found["start_ns"] >= start_ns) & (found["start_ns"] < end_ns)]
    if own.empty:
        end_of_gap_ns = found["start_ns"] + found["gap_ms"] * NS_PER_MS
        own = found[(found["start_ns"] < start_ns) & (end_of_gap_ns >= end_ns)]
    return own.reset_index(drop=True)


def gaps_ms(ticks: pd.DataFrame, start_ns: int, end_ns: int) -> NDArray[np.float64]:
    """Returns the gaps in ms that start in [start_ns, end_ns), in order of time."""
    return gaps_between(ticks, start_ns, end_ns)["gap_ms"].to_numpy(dtype="float64")


def estimate(values: NDArray[np.float64], q: float) -> float | None:
    """Returns the q quantile, None when the sample does not reach it."""
    found = quantile(values, q)
    return None if found is None else found.value


def tick_metrics(ticks: pd.DataFrame, start_ns: int, end_ns: int, budget_ns: int) -> TickMetrics:
    """Returns the metrics of the ticks that started in [start_ns, end_ns); `budget_ns` is the server's step."""
    window = ticks[(ticks["start_ns"] >= start_ns) & (ticks["start_ns"] < end_ns)]
    numbers = np.unique(window["tick"].to_numpy(dtype="int64"))
    found = gaps_between(ticks, start_ns, end_ns)
    gap = found["gap_ms"].to_numpy(dtype="float64")
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
        missing=int(found["skipped"].clip(lower=0).sum()),
        duplicate=len(window) - numbers.size,
        late=int(np.sum(gap >= LATE * budget)),
    )
