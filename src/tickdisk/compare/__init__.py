"""Compares two runs of the whole project, and says whether they reach the same results.

`load` reads facts.json and claims.json from a folder and returns a `Side`. `compare` takes two sides and returns a `Comparison`
with a row for each claim. The row says whether both runs have the same verdict on the claim, and whether the intervals of their
effects overlap. Claims of a study are compared only if both runs have the same arms, times, players, margin and level. They may
differ in the number of lives. `summary` and `lines` write the comparison as sentences and as a table. A reference is a run that
is kept in `data/reference`, one for each scale, which is a named set of sizes of all experiments. `write_reference` keeps a run
there, and `compare_with_reference` compares a run with the reference of its scale.
"""

from tickdisk.compare.comparison import Comparison, compare
from tickdisk.compare.reference import compare_with_reference, write_reference
from tickdisk.compare.side import Side, load
from tickdisk.compare.words import lines, summary

__all__ = ["Comparison", "Side", "compare", "compare_with_reference", "lines", "load", "summary", "write_reference"]
