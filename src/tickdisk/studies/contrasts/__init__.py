"""The analysis that the studies `switchback`, `join_burst` and `capture_cost` share.

A server life has one epoch for every arm, or a block has one life for every arm. The contrast of an arm is the log ratio of a
metric in the arm to its mean over both baselines of the same life or block. `compute` tests the effect of every arm on every
metric over lives. The null control (A/A) is the baseline under another name, the sham control costs the emulator as much
processor time as the slowest arm, and the positive control is an arm that must be slower.
"""

from tickdisk.studies.contrasts.compute import Contrasts, compute
from tickdisk.studies.contrasts.doses import dose_arms, dose_bounds, state_doses
from tickdisk.studies.contrasts.held import Held, held_back, state_held
from tickdisk.studies.contrasts.show import arm_words, effects, effects_table, manipulation, power, runs
from tickdisk.studies.contrasts.state import (
    CONTROL_WORDS,
    NO_CAPTURE_WORDS,
    state_claim,
    state_controls,
    state_effects,
    treatment_claims,
)

__all__ = [
    "CONTROL_WORDS",
    "NO_CAPTURE_WORDS",
    "Contrasts",
    "Held",
    "arm_words",
    "compute",
    "dose_arms",
    "dose_bounds",
    "effects",
    "effects_table",
    "held_back",
    "manipulation",
    "power",
    "runs",
    "state_claim",
    "state_controls",
    "state_doses",
    "state_effects",
    "state_held",
    "treatment_claims",
]
