"""The study of a sweep, which sets the effects of one dose of the switchback at several points beside each other."""

from tickdisk.studies.study import Analysis
from tickdisk.studies.sweep.compute import Results, compute
from tickdisk.studies.sweep.show import FIGURES, TABLES
from tickdisk.studies.sweep.state import state

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
