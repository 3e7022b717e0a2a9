"""Draws the figures of the studies as Altair charts, which all have the same style.

A drawing function takes a table or another result and returns a chart. Its docstring lists the columns that it needs.
TickdiskError is raised if a column is missing, or if the table is empty or has more than 5,000 rows. Where a docstring says that
a table has any length, only a part of its points is drawn. `to_svg`, `save_svg` and `save_png` turn a chart into an image.
`plot.paper` draws narrower charts without a title for the paper.
"""

from tickdisk.plot import paper
from tickdisk.plot.accesses import access_sizes, accesses_over_regions, cumulative_accesses, offset_time, predicted_observed
from tickdisk.plot.checkpoint import checkpoint_cost, checkpoint_game, tick_lengths
from tickdisk.plot.device import bandwidth, calibration_latency, iops_over_depth
from tickdisk.plot.distribution import tails
from tickdisk.plot.effects import dose_response, forest, paired_dots
from tickdisk.plot.fidelity import BESIDE, BEYOND, HELD, fidelity
from tickdisk.plot.inside_tick import late_shares, stalls_found, tick_timeline
from tickdisk.plot.load_space import load_areas, load_reuse, load_sizes, load_touched, load_treemap
from tickdisk.plot.load_time import load_data, load_gaps, load_latencies, load_queue, load_rates
from tickdisk.plot.network import settled_rtt
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
    "load_areas",
    "load_data",
    "load_gaps",
    "load_latencies",
    "load_queue",
    "load_rates",
    "load_reuse",
    "load_sizes",
    "load_touched",
    "load_treemap",
    "modelled_and_measured",
    "offset_time",
    "overhead_by_game",
    "paired_dots",
    "paper",
    "predicted_observed",
    "save_png",
    "save_svg",
    "service_times",
    "settled_rtt",
    "stalls_found",
    "switchback_timeline",
    "tails",
    "tick_lengths",
    "tick_timeline",
    "to_svg",
]
