"""Quality of service from tables: tick and action metrics of a window, one row an epoch, contrasts within lives."""

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
