"""The study that compares servers: the same experiments on every server of the table of experiments.

Each server gets the analysis of the switchback and of the join burst that the studies of these names give the first server. The
effects and the verdicts on every other server are stated, and all servers are shown side by side.
"""

from tickdisk.studies.other_servers.compute import Results, compute
from tickdisk.studies.other_servers.show import FIGURES, TABLES
from tickdisk.studies.other_servers.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
