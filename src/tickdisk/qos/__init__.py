"""Metrics of the quality of service that a server's players had: how regular its ticks were, and how long actions took.

Tables of one server life go in: ticks, actions, epochs, and the requests that the device's log holds. `tick_metrics` and
`action_metrics` return the metrics of a window of time. `epoch_table` returns one row for each epoch with the metrics of its
steady part, and `requests_table` returns the requests in each epoch. `contrasts_by_life` turns such rows into log ratios of each
arm to the baseline within each life, which `tickdisk.stats` tests.

A tick gap is the time from the start of a tick to the start of the next. The budget is the length of the server's step. The
latency of an action runs from the time at which it was due to its completion. It counts as tau at most, and an action that
failed or timed out counts as tau. Times in the tables are ns of CLOCK_MONOTONIC, and metrics are in ms.
"""

from tickdisk.qos.actions import ActionMetrics, action_metrics, latencies_ms
from tickdisk.qos.epochs import contrasts_by_life, epoch_table, requests_table
from tickdisk.qos.ticks import TickMetrics, gaps, gaps_between, gaps_ms, instability_ratio, tick_metrics

__all__ = [
    "ActionMetrics",
    "TickMetrics",
    "action_metrics",
    "contrasts_by_life",
    "epoch_table",
    "gaps",
    "gaps_between",
    "gaps_ms",
    "instability_ratio",
    "latencies_ms",
    "requests_table",
    "tick_metrics",
]
