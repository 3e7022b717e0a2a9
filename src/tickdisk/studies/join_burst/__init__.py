"""The study of the join burst, an experiment in which all players join a server within seconds, from a cold page cache.

In a block every arm has a server life of its own, so that the lives of a block are compared with each other. The study asks
whether the device makes joins and the ticks during the burst longer.
"""

from tickdisk.studies.join_burst.compute import Results, compute
from tickdisk.studies.join_burst.show import FIGURES, TABLES
from tickdisk.studies.join_burst.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
