"""Statistical methods for experiments whose unit of analysis is the server life.

The room answers whether an arm of an experiment differs from its baseline, and by how much. Arrays go in, and small dataclasses
come out. No function reads a file. A function that draws at random takes its generator or its seed as an argument.

A contrast is the log ratio of a metric between an arm and the baseline within one life. `contrast` tests the contrasts of all
lives, both for a difference and for equivalence within a margin that was fixed before the runs. `decide` turns the contrasts of
an experiment into verdicts (different, equivalent, inconclusive or not valid), for which the controls must behave as they
should. `dose_bounds` and `slope` relate a metric to the dose, which is the realised latency. `order_effect` looks for effects of
the order of arms. `family_power`, `needed_lives` and `detectable_ratio` relate the number of lives to the power. The other
functions compute quantiles, means over lives, adjusted p values and resamples of a series.
"""

from tickdisk.stats.contrast import Contrast, Sensitivity, contrast, contrasts, life_contrasts, sensitivity
from tickdisk.stats.decide import (
    PLANNED_LIVES,
    TOO_FEW_LIVES,
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
    "PLANNED_LIVES",
    "TOO_FEW_LIVES",
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
