"""Comparison of two runs of the project, which tells whether they come to the same results.

`load` reads a run's facts.json and claims.json from a folder and returns a `Side`. `compare` pairs the claims of two sides by
their ids. It compares the verdicts of each pair, and asks whether the intervals of the two effects overlap. It does so only for
studies whose plans mean the same in both runs. `summary` and `lines` put the comparison into sentences and a table.

A reference is a run of ours that is kept in `data/reference`, one for each scale of the project. `write_reference` keeps a run
as the reference, and `compare_with_reference` compares a run with the reference of its scale.
"""

from tickdisk.compare.comparison import Comparison, compare
from tickdisk.compare.reference import compare_with_reference, write_reference
from tickdisk.compare.side import Side, load
from tickdisk.compare.words import lines, summary

__all__ = ["Comparison", "Side", "compare", "compare_with_reference", "lines", "load", "summary", "write_reference"]
