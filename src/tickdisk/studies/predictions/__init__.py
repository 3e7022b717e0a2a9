"""The study of predictions: one capture on a fast disk predicts slower disks, and lives on these disks tell how wrong it is.

Each block has a captured life and a life whose device changes from epoch to epoch, with the same players. A prediction is
compared with the measured effect of a disk, beside two rivals: that nothing changes, and that all requests come one after
another.
"""

from tickdisk.studies.predictions.compute import Results, compute
from tickdisk.studies.predictions.show import FIGURES, TABLES
from tickdisk.studies.predictions.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
