"""The part that switchback, join burst and capture cost share: contrasts over lives, their controls and verdicts."""

from tickdisk.report.contrasts.compute import Contrasts, compute, epoch_rows
from tickdisk.report.contrasts.doses import dose_arms, dose_bounds, state_doses
from tickdisk.report.contrasts.show import effects, effects_table, manipulation, power, runs
from tickdisk.report.contrasts.state import (
    NO_CAPTURE_WORDS,
    claimed,
    fact_name,
    state_claim,
    state_controls,
    state_found,
)

__all__ = [
    "NO_CAPTURE_WORDS",
    "Contrasts",
    "claimed",
    "compute",
    "dose_arms",
    "dose_bounds",
    "effects",
    "effects_table",
    "epoch_rows",
    "fact_name",
    "manipulation",
    "power",
    "runs",
    "state_claim",
    "state_controls",
    "state_doses",
    "state_found",
]
