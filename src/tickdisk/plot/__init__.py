"""Figures from prepared tables, all in one theme; each function returns an Altair chart."""

from tickdisk.plot import paper
from tickdisk.plot.accesses import access_sizes, cumulative_accesses, offset_time, over_regions, predicted_observed
from tickdisk.plot.checkpoint import checkpoint_cost, checkpoint_game, tick_lengths
from tickdisk.plot.device import bandwidth, calibration_latency, iops_over_depth
from tickdisk.plot.distribution import tails
from tickdisk.plot.effects import dose_response, forest, paired_dots
from tickdisk.plot.fidelity import BESIDE, BEYOND, HELD, fidelity
from tickdisk.plot.inside_tick import late_shares, stalls_found, tick_timeline
from tickdisk.plot.replay import lateness_over_time, lateness_tails, service_times
from tickdisk.plot.store import algorithms_games, model_real
from tickdisk.plot.theme import save_png, save_svg, to_svg
from tickdisk.plot.timeline import switchback_timeline

__all__ = [
    "BESIDE",
    "BEYOND",
    "HELD",
    "access_sizes",
    "algorithms_games",
    "bandwidth",
    "calibration_latency",
    "checkpoint_cost",
    "checkpoint_game",
    "cumulative_accesses",
    "dose_response",
    "fidelity",
    "forest",
    "iops_over_depth",
    "late_shares",
    "lateness_over_time",
    "lateness_tails",
    "model_real",
    "offset_time",
    "over_regions",
    "paired_dots",
    "paper",
    "predicted_observed",
    "save_png",
    "save_svg",
    "service_times",
    "stalls_found",
    "switchback_timeline",
    "tails",
    "tick_lengths",
    "tick_timeline",
    "to_svg",
]
