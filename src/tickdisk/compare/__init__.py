"""Two runs beside each other: claim by claim the verdicts, effect by effect the intervals."""

from tickdisk.compare.comparison import Comparison, compare
from tickdisk.compare.reference import compare_with_reference, write_reference
from tickdisk.compare.side import Side, load
from tickdisk.compare.words import lines, summary

__all__ = ["Comparison", "Side", "compare", "compare_with_reference", "lines", "load", "summary", "write_reference"]
