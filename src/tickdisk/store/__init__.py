"""A game's state that is kept for real: lives of a store under each algorithm, recovery, and crashes."""

from tickdisk.store.advice import Advice, advise
from tickdisk.store.calibrated import PAPER, REAL, TERMS, Calibrated, calibrate, predict
from tickdisk.store.compare import (
    FIT_RATES,
    LEAST_MS,
    RATES,
    WITHIN,
    Comparison,
    compare,
    lines,
    read_comparison,
    write_comparison,
)
from tickdisk.store.crash import AIMED, Crash, Cutter, Killer, campaign, cutter
from tickdisk.store.life import ALGORITHMS, LATER, Life, Setting, live, started
from tickdisk.store.machine import Machine, measure_machine
from tickdisk.store.recovery import Recovered, Refused, cells_in, recover, verify
from tickdisk.store.study import Findings, Game, check_room, read_study, room_bytes, study, write_study
from tickdisk.store.trial import Design, trials

__all__ = [
    "AIMED",
    "ALGORITHMS",
    "FIT_RATES",
    "LATER",
    "LEAST_MS",
    "PAPER",
    "RATES",
    "REAL",
    "TERMS",
    "WITHIN",
    "Advice",
    "Calibrated",
    "Comparison",
    "Crash",
    "Cutter",
    "Design",
    "Findings",
    "Game",
    "Killer",
    "Life",
    "Machine",
    "Recovered",
    "Refused",
    "Setting",
    "advise",
    "calibrate",
    "campaign",
    "cells_in",
    "check_room",
    "compare",
    "cutter",
    "lines",
    "live",
    "measure_machine",
    "predict",
    "read_comparison",
    "read_study",
    "recover",
    "room_bytes",
    "started",
    "study",
    "trials",
    "verify",
    "write_comparison",
    "write_study",
]
