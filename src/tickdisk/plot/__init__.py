"""Draws the figures of the studies as Altair charts, in one of two themes: for a notebook, or for its place in the paper.

A drawing function takes a table or another result and returns a chart. Its docstring lists the columns that it needs.
TickdiskError is raised if a column is missing, or if the table is empty or has more than 5,000 rows. Where a docstring says that
a table has any length, only a part of its points is drawn. `to_svg`, `save_svg` and `save_png` turn a chart into an image.

A chart for the paper is as wide as a column or as the page, is legible at 100 %, and has no title, because the paper has a
caption. A function with a `theme` draws the same figure for both places.
"""

from tickdisk.plot.accesses import (
    access_sizes,
    accesses_at_a_glance,
    accesses_over_regions,
    cumulative_accesses,
    offset_time,
    predicted_observed,
)
from tickdisk.plot.changes import gains_and_losses
from tickdisk.plot.checkpoint import checkpoint_costs, checkpoint_game, tick_lengths
from tickdisk.plot.device import bandwidth, calibration_latency, iops_over_depth
from tickdisk.plot.distribution import lateness_tails, tails
from tickdisk.plot.doses import Dose, dose_response
from tickdisk.plot.effects import dots_by_arm, forest, server_effects
from tickdisk.plot.fidelity import BESIDE, BEYOND, HELD, fidelity_over_depth
from tickdisk.plot.gaps_by_number import gaps_by_number
from tickdisk.plot.inside_tick import late_shares, stalls_found, tick_gaps, tick_timeline
from tickdisk.plot.load_players import late_by_players
from tickdisk.plot.load_servers import loads_of_servers
from tickdisk.plot.load_space import load_areas, load_reuse, load_sizes, load_touched, load_treemap
from tickdisk.plot.load_time import load_data, load_gaps, load_latencies, load_queue, load_rates
from tickdisk.plot.network import settled_rtt, stack_costs
from tickdisk.plot.operations import added_by_operation
from tickdisk.plot.players import added_by_players
from tickdisk.plot.pools import pool_throughput
from tickdisk.plot.predictions import predicted_and_measured
from tickdisk.plot.replay import lateness_over_time, service_times
from tickdisk.plot.store import modelled_and_measured, overhead_by_game
from tickdisk.plot.sweep import swept_effects
from tickdisk.plot.theme import NOTEBOOK, PAPER, Theme, save_png, save_svg, to_svg
from tickdisk.plot.timeline import switchback_timeline

__all__ = [
    "BESIDE",
    "BEYOND",
    "HELD",
    "NOTEBOOK",
    "PAPER",
    "Dose",
    "Theme",
    "access_sizes",
    "accesses_at_a_glance",
    "accesses_over_regions",
    "added_by_operation",
    "added_by_players",
    "bandwidth",
    "calibration_latency",
    "checkpoint_costs",
    "checkpoint_game",
    "cumulative_accesses",
    "dose_response",
    "dots_by_arm",
    "fidelity_over_depth",
    "forest",
    "gains_and_losses",
    "gaps_by_number",
    "iops_over_depth",
    "late_by_players",
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
    "loads_of_servers",
    "modelled_and_measured",
    "offset_time",
    "overhead_by_game",
    "pool_throughput",
    "predicted_and_measured",
    "predicted_observed",
    "save_png",
    "save_svg",
    "server_effects",
    "service_times",
    "settled_rtt",
    "stack_costs",
    "stalls_found",
    "swept_effects",
    "switchback_timeline",
    "tails",
    "tick_gaps",
    "tick_lengths",
    "tick_timeline",
    "to_svg",
]
