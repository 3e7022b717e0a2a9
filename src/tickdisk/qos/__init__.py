"""Quality of service from tables: tick and action metrics of a window, one row an epoch, paired ratios."""

from tickdisk.qos.actions import ActionMetrics, Latencies, action_metrics, latencies
from tickdisk.qos.epochs import epoch_table, paired_log_ratios
from tickdisk.qos.ticks import TickMetrics, gaps, gaps_between, gaps_ms, instability_ratio, tick_metrics

__all__ = [
    "ActionMetrics",
    "Latencies",
    "TickMetrics",
    "action_metrics",
    "epoch_table",
    "gaps",
    "gaps_between",
    "gaps_ms",
    "instability_ratio",
    "latencies",
    "paired_log_ratios",
    "tick_metrics",
]
