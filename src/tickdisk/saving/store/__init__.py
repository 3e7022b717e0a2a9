"""Saves a game's state to disk by real checkpoint algorithms, measures what that costs, and tests the recovery after crashes.

A store is a folder with checkpoints and a log of the updates of each tick. A life here is one process that plays a game's ticks
and saves under one of twelve algorithms (`live`): the six of `tickdisk.saving.checkpoint` and six later ones. `trials` measures
what they cost, and `advise` chooses one. `compare` fits a cost model to lives at some update rates and predicts those at others.
`study` does this on an emulated device. `recover` rebuilds the state at the last committed tick, and `verify` lists what is
damaged. `campaign` ends lives by a kill or a power cut, and compares each recovered state with the right one.
"""

from tickdisk.saving.store.advice import Advice, advise, costs_over_lives
from tickdisk.saving.store.calibrated import PAPER, TERMS, Calibrated, calibrate, predict
from tickdisk.saving.store.compare import (
    FIT_RATES,
    LEAST_MS,
    RATES,
    WITHIN,
    ModelComparison,
    compare,
    lines,
    read_comparison,
    write_comparison,
)
from tickdisk.saving.store.crash import ProcessKill, campaign, cutter
from tickdisk.saving.store.life import ALGORITHMS, LATER_ALGORITHMS, Setting, StoreLife, live, started
from tickdisk.saving.store.machine import CostParameters
from tickdisk.saving.store.recovery import StoreRefused, cells_in, recover, verify
from tickdisk.saving.store.study import Game, StoreFindings, check_device_memory, device_bytes, read_study, study, write_study
from tickdisk.saving.store.trial import TrialDesign, trials

__all__ = [
    "ALGORITHMS",
    "FIT_RATES",
    "LATER_ALGORITHMS",
    "LEAST_MS",
    "PAPER",
    "RATES",
    "TERMS",
    "WITHIN",
    "Advice",
    "Calibrated",
    "CostParameters",
    "Game",
    "ModelComparison",
    "ProcessKill",
    "Setting",
    "StoreFindings",
    "StoreLife",
    "StoreRefused",
    "TrialDesign",
    "advise",
    "calibrate",
    "campaign",
    "cells_in",
    "check_device_memory",
    "compare",
    "costs_over_lives",
    "cutter",
    "device_bytes",
    "lines",
    "live",
    "predict",
    "read_comparison",
    "read_study",
    "recover",
    "started",
    "study",
    "trials",
    "verify",
    "write_comparison",
    "write_study",
]
