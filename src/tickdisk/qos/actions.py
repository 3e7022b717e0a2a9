"""What the actions of a stretch of time were like for the players who took them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.errors import TickdiskError
from tickdisk.qos.ticks import NS_PER_MS
from tickdisk.stats import quantile


@dataclass(frozen=True)
class ActionMetrics:
    """Completion latency of one kind of action that was due in a window: completed - due, so waiting behind a late one counts.

    A timed-out action took at least as long as it was waited for and enters with that; `censored_*` says that a value is such a
    lower bound. Failed actions never complete: they are counted and have no latency. None where a value cannot be estimated.
    """

    offered: int
    """Actions that were due."""
    n: int
    """Of these, completed or timed out: the ones with a latency."""
    completed: int
    timed_out: int
    failed: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    censored_mean: bool
    censored_p50: bool
    censored_p95: bool
    offered_per_s: float
    achieved_per_s: float
    """Completions per second among the actions that were due in the window."""
    issue_lag_p95_ms: float | None
    """How late the client itself was: issued - due."""


@dataclass(frozen=True)
class Latencies:
    """Latencies in ms, shape (n,), with whether each is only a lower bound."""

    ms: NDArray[np.float64]
    censored: NDArray[np.bool_]


def latencies(actions: pd.DataFrame, start_ns: int, end_ns: int, action: str, timeout_ns: int | None = None) -> Latencies:
    """Returns the latencies of the completed and timed-out actions due in [start_ns, end_ns), in order of their due times.

    A timed-out row without completed_ns enters with `timeout_ns` after it was issued; TickdiskError when that is not given.
    """
    chosen = actions[(actions["action"] == action) & (actions["due_ns"] >= start_ns) & (actions["due_ns"] < end_ns)]
    chosen = chosen[chosen["outcome"].isin(("completed", "timed_out"))].sort_values("due_ns", kind="stable")
    timed_out = (chosen["outcome"] == "timed_out").to_numpy()
    completed = chosen["completed_ns"]
    open_ended = completed.isna().to_numpy()
    if open_ended.any():
        if timeout_ns is None or (open_ended & ~timed_out).any():
            raise TickdiskError(
                f"{int(open_ended.sum())} {action} actions have no completed_ns; pass the time-out for timed-out ones, "
                "and check the players' log for completed ones without a time"
            )
        completed = completed.fillna(chosen["issued_ns"].fillna(chosen["due_ns"]) + timeout_ns)
    ms = (completed - chosen["due_ns"]).to_numpy(dtype="float64") / NS_PER_MS
    return Latencies(ms, timed_out)


def _is_bound(found: Latencies, value: float | None) -> bool:
    """Whether a quantile at `value` could lie higher were the time-outs longer: a censored latency is at or below it."""
    return value is not None and bool(found.censored.any()) and float(found.ms[found.censored].min()) <= value


def action_metrics(
    actions: pd.DataFrame, start_ns: int, end_ns: int, action: str, timeout_ns: int | None = None
) -> ActionMetrics:
    """Returns the metrics of the actions of one kind that were due in [start_ns, end_ns)."""
    chosen = actions[(actions["action"] == action) & (actions["due_ns"] >= start_ns) & (actions["due_ns"] < end_ns)]
    outcomes = chosen["outcome"].value_counts()
    found = latencies(actions, start_ns, end_ns, action, timeout_ns)
    p50, p95 = (None if estimate is None else estimate.value for estimate in (quantile(found.ms, 0.5), quantile(found.ms, 0.95)))
    seconds = (end_ns - start_ns) / 1e9
    lag = quantile((chosen["issued_ns"] - chosen["due_ns"]).dropna().to_numpy(dtype="float64") / NS_PER_MS, 0.95)
    some = found.ms.size > 0
    completed = int(outcomes.get("completed", 0))
    return ActionMetrics(
        offered=len(chosen),
        n=found.ms.size,
        completed=completed,
        timed_out=int(outcomes.get("timed_out", 0)),
        failed=int(outcomes.get("failed", 0)),
        mean_ms=float(found.ms.mean()) if some else None,
        p50_ms=p50,
        p95_ms=p95,
        max_ms=float(found.ms.max()) if some else None,
        censored_mean=bool(found.censored.any()),
        censored_p50=_is_bound(found, p50),
        censored_p95=_is_bound(found, p95),
        offered_per_s=len(chosen) / seconds,
        achieved_per_s=completed / seconds,
        issue_lag_p95_ms=None if lag is None else lag.value,
    )
