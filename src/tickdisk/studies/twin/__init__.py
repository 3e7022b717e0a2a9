"""The study of a real disk beside its emulated twin: whether players and requests meet the same on both.

Each block has a life on the real disk, one on the twin, which was profiled from it, and one on a twin that is wrong on purpose.
Where not even the wrong twin is found to differ from the disk, the study says that it cannot tell.
"""

from tickdisk.studies.study import Analysis
from tickdisk.studies.twin.compute import Results, compute
from tickdisk.studies.twin.show import FIGURES, TABLES
from tickdisk.studies.twin.state import state

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
