"""Designs, intervals, tests, power and verdicts: arrays in, small dataclasses out; random state is always passed in."""

from tickdisk.stats.contrast import Contrast, cliffs_delta, contrast, hodges_lehmann, sign_flip_p
from tickdisk.stats.crossing import Crossing, dose_for_margin
from tickdisk.stats.decide import Controls, Plan, Verdict, Word, adjusted, check_controls, verdict, verdicts
from tickdisk.stats.dose import DoseResponse, Slope, dose_response
from tickdisk.stats.order import OrderEffect, block_contrast, blocks_differ_p, order_effect
from tickdisk.stats.power import detectable_ratio, needed_n, paired_power, simulate_power
from tickdisk.stats.quantile import Quantile, ecdf, minimum_n, minimum_n_interval, quantile
from tickdisk.stats.resample import QuantileEffect, Shift, block_length, quantile_effect, shift_function, stationary_indices

__all__ = [
    "Contrast",
    "Controls",
    "Crossing",
    "DoseResponse",
    "OrderEffect",
    "Plan",
    "Quantile",
    "QuantileEffect",
    "Shift",
    "Slope",
    "Verdict",
    "Word",
    "adjusted",
    "block_contrast",
    "block_length",
    "blocks_differ_p",
    "check_controls",
    "cliffs_delta",
    "contrast",
    "detectable_ratio",
    "dose_for_margin",
    "dose_response",
    "ecdf",
    "hodges_lehmann",
    "minimum_n",
    "minimum_n_interval",
    "needed_n",
    "order_effect",
    "paired_power",
    "quantile",
    "quantile_effect",
    "shift_function",
    "sign_flip_p",
    "simulate_power",
    "stationary_indices",
    "verdict",
    "verdicts",
]
