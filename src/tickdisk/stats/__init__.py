"""Tests whether one condition of an experiment (an arm) differs from another (the baseline), with one value per server life.

The contrast of a life is the log ratio of a metric in the arm to the baseline. `contrast` tests whether there is a difference,
and whether the ratio is within a margin that was fixed before the runs (equivalence). `decide` gives each claim a verdict. A
verdict that leaves its question open has causes, such as `TooFew`. Controls are arms whose outcome is known in advance. If a
control of a metric has another outcome, no claim about the metric is valid. If its outcome is open, only effects beyond it are
decided. The dose of an arm is the latency that its disk really had. No function reads a file. Functions that draw at random take
a generator, or a seed and words (`named_generator`).
"""

from tickdisk.stats.causes import (
    AnyWord,
    BelowFloor,
    BoundWord,
    Cause,
    ClientsSaturated,
    ControlFailed,
    ControlUndecided,
    FewerThanPlanned,
    FilesUnknown,
    LivesFailed,
    NoInterval,
    NothingCaptured,
    NotMeasured,
    NotSettled,
    NotShown,
    Obstacle,
    PointsNotJudged,
    StepsNotValid,
    TooFew,
    Undecided,
    Word,
    WrongTwinNotFound,
)
from tickdisk.stats.contrast import (
    Contrast,
    contrast,
    contrast_between,
    contrasts,
    life_contrasts,
    life_log_ratios,
    sensitivity,
    widest,
)
from tickdisk.stats.decide import (
    Controls,
    DecisionPlan,
    Key,
    Roles,
    Verdict,
    Verdicts,
    causes_of,
    decide,
    judge_quiet,
    lives_to_decide,
    verdict,
)
from tickdisk.stats.dose import Bounds, Slope, dose_bounds, slope
from tickdisk.stats.draws import named_generator
from tickdisk.stats.families import adjusted, holm
from tickdisk.stats.finding import BOUND_WORDS, Finding, HeldFinding, Outcome
from tickdisk.stats.mean import ALPHA, Mean, half_length, over_lives
from tickdisk.stats.order import OrderEffect, order_effect
from tickdisk.stats.power import detectable_ratio, family_power, needed_lives
from tickdisk.stats.quantile import Quantile, ecdf, estimate, minimum_n, minimum_n_interval, quantile
from tickdisk.stats.resample import block_length, stationary_indices

__all__ = [
    "ALPHA",
    "BOUND_WORDS",
    "AnyWord",
    "BelowFloor",
    "BoundWord",
    "Bounds",
    "Cause",
    "ClientsSaturated",
    "Contrast",
    "ControlFailed",
    "ControlUndecided",
    "Controls",
    "DecisionPlan",
    "FewerThanPlanned",
    "FilesUnknown",
    "Finding",
    "HeldFinding",
    "Key",
    "LivesFailed",
    "Mean",
    "NoInterval",
    "NotMeasured",
    "NotSettled",
    "NotShown",
    "NothingCaptured",
    "Obstacle",
    "OrderEffect",
    "Outcome",
    "PointsNotJudged",
    "Quantile",
    "Roles",
    "Slope",
    "StepsNotValid",
    "TooFew",
    "Undecided",
    "Verdict",
    "Verdicts",
    "Word",
    "WrongTwinNotFound",
    "adjusted",
    "block_length",
    "causes_of",
    "contrast",
    "contrast_between",
    "contrasts",
    "decide",
    "detectable_ratio",
    "dose_bounds",
    "ecdf",
    "estimate",
    "family_power",
    "half_length",
    "holm",
    "judge_quiet",
    "life_contrasts",
    "life_log_ratios",
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
    "widest",
]
