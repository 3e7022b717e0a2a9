"""Describes the load that a trace puts on storage, as the study of games by Maruf et al. (2021) does, and more.

`load_of` finds the reads and writes in a table of requests and returns a `Load`. Each function below it describes one side of a
load, and raises TickdiskError with the words "not in the trace" if the trace lacks what it needs. `describe` puts them together
for one or more runs of the same load.
"""

from tickdisk.characterise.amounts import amounts, latencies, size_distribution, ways_of_storing
from tickdisk.characterise.description import Description, describe
from tickdisk.characterise.files import by_place, listing, share_of_files_touched, touched
from tickdisk.characterise.flushes import flush_policy
from tickdisk.characterise.kind import PublishedLoad, kind, references
from tickdisk.characterise.load import OPS, Load, load_of
from tickdisk.characterise.period import period
from tickdisk.characterise.places import locality, reuse, sequences
from tickdisk.characterise.stores import chunks, store_parts
from tickdisk.characterise.summary import NUMBERS, summary
from tickdisk.characterise.syncs import Syncs, syncs
from tickdisk.characterise.times import gaps, latency_map, peaks, queue, rates

__all__ = [
    "NUMBERS",
    "OPS",
    "Description",
    "Load",
    "PublishedLoad",
    "Syncs",
    "amounts",
    "by_place",
    "chunks",
    "describe",
    "flush_policy",
    "gaps",
    "kind",
    "latencies",
    "latency_map",
    "listing",
    "load_of",
    "locality",
    "peaks",
    "period",
    "queue",
    "rates",
    "references",
    "reuse",
    "sequences",
    "share_of_files_touched",
    "size_distribution",
    "store_parts",
    "summary",
    "syncs",
    "touched",
    "ways_of_storing",
]
