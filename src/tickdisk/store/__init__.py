"""A game's state that is kept for real: lives of a store under each algorithm, recovery, and crashes."""

from tickdisk.store.compare import REAL, compare, summary
from tickdisk.store.crash import AIMED, Crash, Cutter, Killer, campaign, cutter
from tickdisk.store.life import ALGORITHMS, LATER, Life, Setting, live, started
from tickdisk.store.machine import Machine, measure_machine
from tickdisk.store.recovery import Recovered, Refused, recover, verify

__all__ = [
    "AIMED",
    "ALGORITHMS",
    "LATER",
    "REAL",
    "Crash",
    "Cutter",
    "Killer",
    "Life",
    "Machine",
    "Recovered",
    "Refused",
    "Setting",
    "campaign",
    "compare",
    "cutter",
    "live",
    "measure_machine",
    "recover",
    "started",
    "summary",
    "verify",
]
