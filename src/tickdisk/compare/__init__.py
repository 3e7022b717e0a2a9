"""Compares two runs of the whole project, and says whether they reach the same results.

`compare` gives a row for each claim, with both verdicts and whether the intervals of the effects overlap. Claims of a study are
compared only if both runs have the same arms, times, players, margin and level, but they may differ in the number of lives. A
reference is a run that is kept in `data/reference`, one for each scale.
"""

from tickdisk.compare.comparison import ComparedClaim, Comparison, compare
from tickdisk.compare.reference import (
    KEPT,
    KeptStudy,
    Reference,
    WithoutReference,
    WithReference,
    compare_with_reference,
    machine_of,
    read_about,
    read_summary,
    write_reference,
)
from tickdisk.compare.side import load
from tickdisk.compare.words import lines, summary

__all__ = [
    "KEPT",
    "ComparedClaim",
    "Comparison",
    "KeptStudy",
    "Reference",
    "WithReference",
    "WithoutReference",
    "compare",
    "compare_with_reference",
    "lines",
    "load",
    "machine_of",
    "read_about",
    "read_summary",
    "summary",
    "write_reference",
]
