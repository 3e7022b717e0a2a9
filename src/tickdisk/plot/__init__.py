"""Figures from prepared tables, all in one theme; each function returns an Altair chart."""

from tickdisk.plot.device import bandwidth, calibration_latency, iops_over_depth
from tickdisk.plot.distribution import latency_spread, shift_function, tails
from tickdisk.plot.effects import dose_response, forest, paired_dots
from tickdisk.plot.theme import save_png, save_svg, to_svg
from tickdisk.plot.timeline import switchback_timeline

__all__ = [
    "bandwidth",
    "calibration_latency",
    "dose_response",
    "forest",
    "iops_over_depth",
    "latency_spread",
    "paired_dots",
    "save_png",
    "save_svg",
    "shift_function",
    "switchback_timeline",
    "tails",
    "to_svg",
]
