"""The study of reads, writes and flushes apart: a switchback on every server in which one kind of operation is slow at a time.

It asks which operations stall ticks and actions, and whether the sum of their effects is the effect of all of them together. The
effects add up in ms if a server makes its requests one after another, so sums and interactions are in ms. The counts of requests
that ticks wait for one after another, from captured lives, stand beside the measured rise per ms of latency.
"""

from tickdisk.studies.operations.compute import Results, compute
from tickdisk.studies.operations.show import FIGURES, TABLES
from tickdisk.studies.operations.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
