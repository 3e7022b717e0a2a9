"""Metrics of the actions that players took in a window of time."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import NS_PER_MS
from tickdisk.stats import estimate


@dataclass(frozen=True)
class ActionMetrics:
    """The metrics of one kind of action, for the actions that were due in a window. A value that cannot be estimated is None.

    The latency of an action is min(completed - due, tau), where tau is the longest latency that an action counts with. It begins
    at the due time, so the time that an action waits behind a late one counts. No latency below tau is censored. An action that
    failed, timed out or took longer than tau counts as tau, which is the worst outcome.
    """

    offered: int
    completed: int
    """Number of the offered actions (those that were due) that were completed, however late."""
    timed_out: int
    """Number of the offered actions that the client gave up because they took too long."""
    failed: int
    """Number of the offered actions that could not be issued, or that ended with an error."""
    at_tau: int
    mean_ms: float | None
    """Mean latency of the offered actions. The two fields after it are percentiles of their latencies."""
    p50_ms: float | None
    p95_ms: float | None
    offered_per_s: float
    """Actions per second of the window that were due in it."""
    achieved_per_s: float
    """Completed actions per second of the window, among the actions that were due in it."""
    issue_lag_p95_ms: float | None
    """95th percentile of issued - due, which is the delay of the client itself."""


def latencies_ms(actions: pd.DataFrame, start_ns: int, end_ns: int, action: str, tau_ns: int) -> NDArray[np.float64]:
    """Computes the latencies min(completed - due, tau) in ms of the actions of one kind that were due in a window, by due time.

    `actions` has the columns action (the kind, such as a teleport), due_ns, issued_ns, completed_ns and outcome. The window is in
    ns of CLOCK_MONOTONIC, and its end does not belong to it. `tau_ns` is the longest latency that an action counts with. Raises
    TickdiskError if a completed action has no completion time.
    """
    return _latencies_ms(_due(actions, start_ns, end_ns, action), action, tau_ns)


def _latencies_ms(due: pd.DataFrame, action: str, tau_ns: int) -> NDArray[np.float64]:
    took_ns = (due["completed_ns"] - due["due_ns"]).astype("Float64")
    completed = (due["outcome"] == "completed").to_numpy()
    lacking = int((completed & took_ns.isna().to_numpy()).sum())
    if lacking:
        raise TickdiskError(f"{lacking} completed {action} actions have no completed_ns; check the players' log")
    return np.minimum(np.where(completed, took_ns.to_numpy("float64", na_value=np.inf), np.inf), tau_ns) / NS_PER_MS


def _due(actions: pd.DataFrame, start_ns: int, end_ns: int, action: str) -> pd.DataFrame:
    due = actions[(actions["action"] == action) & (actions["due_ns"] >= start_ns) & (actions["due_ns"] < end_ns)]
    return due.sort_values("due_ns", kind="stable")


def action_metrics(actions: pd.DataFrame, start_ns: int, end_ns: int, action: str, tau_ns: int) -> ActionMetrics:
    """Computes the metrics of the actions of one kind that were due in a window. The parameters and errors are those of
    `latencies_ms`.
    """
    due = _due(actions, start_ns, end_ns, action)
    outcomes = due["outcome"].value_counts()
    found_ms = _latencies_ms(due, action, tau_ns)
    seconds = (end_ns - start_ns) / 1e9
    lag_ms = (due["issued_ns"] - due["due_ns"]).dropna().to_numpy(dtype="float64") / NS_PER_MS
    completed = int(outcomes.get("completed", 0))
    return ActionMetrics(
        offered=len(due),
        completed=completed,
        timed_out=int(outcomes.get("timed_out", 0)),
        failed=int(outcomes.get("failed", 0)),
        at_tau=int((found_ms >= tau_ns / NS_PER_MS).sum()),
        mean_ms=float(found_ms.mean()) if found_ms.size else None,
        p50_ms=estimate(found_ms, 0.5),
        p95_ms=estimate(found_ms, 0.95),
        offered_per_s=len(due) / seconds,
        achieved_per_s=completed / seconds,
        issue_lag_p95_ms=estimate(lag_ms, 0.95),
    )
