"""Contrasts, tests, power and verdicts over server lives: arrays in, small dataclasses out; random state is always passed in."""

from tickdisk.stats.contrast import Contrast, Sensitivity, contrast, contrasts, life_contrasts, sensitivity
from tickdisk.stats.decide import (
    Controls,
    Decision,
    Key,
    Plan,
    Roles,
    Verdict,
    Word,
    decide,
    lives_to_decide,
    verdict,
)
from tickdisk.stats.dose import Bounds, Slope, dose_bounds, slope
from tickdisk.stats.draws import named_generator
from tickdisk.stats.families import adjusted, holm
from tickdisk.stats.mean import Mean, over_lives
from tickdisk.stats.order import OrderEffect, order_effect
from tickdisk.stats.power import detectable_ratio, family_power, needed_lives
from tickdisk.stats.quantile import Quantile, ecdf, minimum_n, minimum_n_interval, quantile
from tickdisk.stats.resample import block_length, stationary_indices

__all__ = [
    "Bounds",
    "Contrast",
    "Controls",
    "Decision",
    "Key",
    "Mean",
    "OrderEffect",
    "Plan",
    "Quantile",
    "Roles",
    "Sensitivity",
    "Slope",
    "Verdict",
    "Word",
    "adjusted",
    "block_length",
    "contrast",
    "contrasts",
    "decide",
    "detectable_ratio",
    "dose_bounds",
    "ecdf",
    "family_power",
    "holm",
    "life_contrasts",
    "lives_to_decide",
    "minimum_n",
    "minimum_n_interval",
    "named_generator",
    "needed_lives",
    "order_effect",
    "over_lives",
    "quantile",
    "sensitivity",
    "slope",
    "stationary_indices",
    "verdict",
]
