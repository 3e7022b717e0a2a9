"""Says how each tick of a captured program spent its time: computing, or waiting for storage, for a lock or for a core.

`load_evidence` reads the folder of a cell, a server life or a capture by bpftrace, and `attribute` makes a `Blame` of it. The gap
of a tick lasts until the next tick starts, and its late time is what exceeds the budget. A gap is a chain of links, one for each
wait and one for the running time. A wait for a lock has further links that say what the lock's holder did meanwhile.

The cause of a late tick is the kind of time without which least of the late time would be left. The other functions explain ticks
and actions of players in words, divide the late time among the causes with intervals, and test the explanations on stalls that
were made on purpose.
"""

from tickdisk.blame.actions import blame_actions
from tickdisk.blame.attribute import CAUSES, SLOW, Blame, attribute
from tickdisk.blame.chain import follow
from tickdisk.blame.check import FEWEST_STALLS, Count, check_injections, count
from tickdisk.blame.evidence import CaptureEvidence, load_evidence
from tickdisk.blame.goroutine import with_goroutine
from tickdisk.blame.lanes import LOCK, NONE, Integers, ThreadWaits
from tickdisk.blame.links import JOURNAL, SAVES
from tickdisk.blame.requests import READS, FilesOnDevice, MatchedRequests, match_requests, requests_of
from tickdisk.blame.series import requests_in_a_row
from tickdisk.blame.shares import FEWEST_LIVES, overlapping, shares
from tickdisk.blame.timeline import stretch
from tickdisk.blame.words import CAUSE_WORDS, explain, explain_wait, screen, verdict

__all__ = [
    "CAUSES",
    "CAUSE_WORDS",
    "FEWEST_LIVES",
    "FEWEST_STALLS",
    "JOURNAL",
    "LOCK",
    "NONE",
    "READS",
    "SAVES",
    "SLOW",
    "Blame",
    "CaptureEvidence",
    "Count",
    "FilesOnDevice",
    "Integers",
    "MatchedRequests",
    "ThreadWaits",
    "attribute",
    "blame_actions",
    "check_injections",
    "count",
    "explain",
    "explain_wait",
    "follow",
    "load_evidence",
    "match_requests",
    "overlapping",
    "requests_in_a_row",
    "requests_of",
    "screen",
    "shares",
    "stretch",
    "verdict",
    "with_goroutine",
]
