"""The study of changes: how much of a slow disk's effect a setting takes away, and how much play a power cut then loses.

Each block has one life for each change and two without a change, with the same players. In every life the disk is fast in one
epoch and slow in another one. The effect of the slow disk with a change is compared with that without it, as a ratio of ratios
over blocks. Other lives tell what is left on the disk after power cuts at random times, when a server has started again and
players look at it.
"""

from tickdisk.studies.changes.compute import Results, compute
from tickdisk.studies.changes.show import FIGURES, TABLES
from tickdisk.studies.changes.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
