"""Experiments with a store that really saves a game's state, instead of simulating it.

The room answers which checkpoint algorithm suits a game, a machine and a disk, and whether a store recovers after a crash. A
store is a folder with checkpoints of the state and a log of actions, which holds the updates of every tick. A life is a process
that plays ticks at their rate under one algorithm (`Setting`, `live`, `Life`). `ALGORITHMS` has the six that
`tickdisk.checkpoint` simulates, and six later ones. `trials` plays the lives of a `Design` and returns the time that each
algorithm adds to a tick, from which `advise` chooses an algorithm. `compare` fits a cost model to lives (`Calibrated`) and
compares its predictions with lives at other update rates. `study` adds games on several devices. `recover` finds the state at
the last committed tick, and `verify` looks for damage. `campaign` ends lives by a kill (`ProcessKill`) or a power cut
(`PowerCut`) and checks each recovery.
"""

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
from tickdisk.store.crash import AIMED, Crash, PowerCut, ProcessKill, campaign, cutter
from tickdisk.store.life import ALGORITHMS, LATER_ALGORITHMS, Life, Setting, live, started
from tickdisk.store.machine import Machine, measure_machine
from tickdisk.store.recovery import Recovered, StoreRefused, cells_in, recover, verify
from tickdisk.store.study import Findings, Game, check_device_memory, device_bytes, read_study, study, write_study
from tickdisk.store.trial import Design, trials

__all__ = [
    "AIMED",
    "ALGORITHMS",
    "FIT_RATES",
    "LATER_ALGORITHMS",
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
    "Design",
    "Findings",
    "Game",
    "Life",
    "Machine",
    "PowerCut",
    "ProcessKill",
    "Recovered",
    "Setting",
    "StoreRefused",
    "advise",
    "calibrate",
    "campaign",
    "cells_in",
    "check_device_memory",
    "compare",
    "cutter",
    "device_bytes",
    "lines",
    "live",
    "measure_machine",
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
