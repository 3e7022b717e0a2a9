"""Measures how well a server served its players: how regular its ticks were, and how long the actions of players took.

The input is tables of one server life: ticks, actions, epochs, and the device's log. An epoch is a part of the life under one
arm, such as one disk latency. Its beginning is left out, and the rest is its steady part. A tick gap is the time between the
starts of two ticks. The budget is the intended length of a tick. The latency of an action runs from the time at which it was due
to its completion. An action that took longer than tau, an upper limit that the caller gives, failed or timed out counts as tau.
Times in tables are in ns of CLOCK_MONOTONIC, and metrics are in ms.
"""

from tickdisk.qos.actions import action_metrics, latencies_ms
from tickdisk.qos.epochs import contrasts_by_life, epoch_table, requests_table
from tickdisk.qos.ticks import LATE, gaps, gaps_ms, instability_ratio, tick_metrics

__all__ = [
    "LATE",
    "action_metrics",
    "contrasts_by_life",
    "epoch_table",
    "gaps",
    "gaps_ms",
    "instability_ratio",
    "latencies_ms",
    "requests_table",
    "tick_metrics",
]
