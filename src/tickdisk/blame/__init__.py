"""Inside the tick: where its time went, through locks down to request, file and disk; held against injected stalls."""

from tickdisk.blame.actions import blame_actions
from tickdisk.blame.attribute import CAUSES, SLOW, Blame, attribute
from tickdisk.blame.check import Count, check_injections, count
from tickdisk.blame.evidence import Evidence, load_evidence, load_life
from tickdisk.blame.lanes import KINDS
from tickdisk.blame.links import JOURNAL
from tickdisk.blame.shares import FEWEST_LIVES, overlapping, shares
from tickdisk.blame.timeline import Stretch, stretch
from tickdisk.blame.words import CAUSE_WORDS, explain, explain_wait, screen

__all__ = [
    "CAUSES",
    "CAUSE_WORDS",
    "FEWEST_LIVES",
    "JOURNAL",
    "KINDS",
    "SLOW",
    "Blame",
    "Count",
    "Evidence",
    "Stretch",
    "attribute",
    "blame_actions",
    "check_injections",
    "count",
    "explain",
    "explain_wait",
    "load_evidence",
    "load_life",
    "overlapping",
    "screen",
    "shares",
    "stretch",
]
