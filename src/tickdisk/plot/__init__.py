"""Figures of the studies, as Altair charts in one theme.

Each function takes prepared tables, arrays or results, and returns a chart. Its docstring lists the columns that a table must
have. A table that lacks a column, is empty, or has more rows than can be drawn raises TickdiskError. Tables of any length are
thinned where the docstring says so. Title and subtitle are part of the chart, and the subtitle says how to read it and on how
many observations it rests.

`to_svg`, `save_svg` and `save_png` render a chart. `plot.paper` has the same kinds of figures for the paper: narrower, and
without a title.
"""

from tickdisk.plot import paper
from tickdisk.plot.accesses import access_sizes, accesses_over_regions, cumulative_accesses, offset_time, predicted_observed
from tickdisk.plot.checkpoint import checkpoint_cost, checkpoint_game, tick_lengths
from tickdisk.plot.device import bandwidth, calibration_latency, iops_over_depth
from tickdisk.plot.distribution import tails
from tickdisk.plot.effects import dose_response, forest, paired_dots
from tickdisk.plot.fidelity import BESIDE, BEYOND, HELD, fidelity
from tickdisk.plot.inside_tick import late_shares, stalls_found, tick_timeline
from tickdisk.plot.replay import lateness_over_time, lateness_tails, service_times
from tickdisk.plot.store import modelled_and_measured, overhead_by_game
from tickdisk.plot.theme import save_png, save_svg, to_svg
from tickdisk.plot.timeline import switchback_timeline

__all__ = [
    "BESIDE",
    "BEYOND",
    "HELD",
    "access_sizes",
    "accesses_over_regions",
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
    "modelled_and_measured",
    "offset_time",
    "overhead_by_game",
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
