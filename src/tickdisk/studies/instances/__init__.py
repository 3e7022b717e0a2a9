"""The study of several servers on one disk: what a slow disk costs each of them, by their number.

In each life the device changes from epoch to epoch, and lives have different numbers of servers. Every server has the same
share of the processor and of memory at every number, so that only the disk is shared.
"""

from tickdisk.studies.instances.compute import Results, compute
from tickdisk.studies.instances.show import FIGURES, TABLES
from tickdisk.studies.instances.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
