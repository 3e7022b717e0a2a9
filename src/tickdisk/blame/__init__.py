"""Explains where the time of slow ticks and slow actions went: computing, waiting for storage, for threads or for a core.

`load_evidence` and `load_life` load the tables of captured server lives, or of a capture of any process, as `Evidence`.
`attribute` explains every tick of the thread that ticks, and returns a `Blame`. `explain`, `explain_wait` and `screen` put it
into sentences, `blame_actions` explains the actions of players, `shares` computes the share of late time that storage explains,
and `stretch` prepares the tables of a figure. `check_injections` compares the explanations with injected stalls.

A tick's gap is the time from its start to the start of the next tick. Its late time is the part of the gap beyond the budget. A
gap is split into links. Each link is a wait of the thread, or the time that it ran. If the thread waited for a lock, further
links say what the holder of the lock did meanwhile. The links of a tick are its chain. Links that wait for storage name the
system call, the file and the device's request. The cause of a tick is the kind of time without which most of its late time
would be gone.
"""

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
