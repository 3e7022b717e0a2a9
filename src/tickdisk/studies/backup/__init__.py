"""The study of a backup on the same disk: what it costs ticks and players, and which remedy helps.

In each life the way of making a backup changes from epoch to epoch, on one disk. Times without a backup are the baseline.
"""

from tickdisk.studies.backup.compute import Results, compute
from tickdisk.studies.backup.show import FIGURES, TABLES
from tickdisk.studies.backup.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
