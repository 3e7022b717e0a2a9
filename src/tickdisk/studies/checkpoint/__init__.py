"""The study of checkpoint recovery in simulation, which repeats the paper of Vaz Salles et al. (2009).

Six algorithms save a game's state under the paper's cost model. The paper leaves some choices open, which are called readings. An
anchor is a number that the paper prints, with the simulated value beside it and a bound on their distance. Each anchor becomes a
claim. If the stated readings miss an anchor, the study names the other reading that comes nearest.
"""

from tickdisk.studies.checkpoint.compute import Results, compute
from tickdisk.studies.checkpoint.show import FIGURES, TABLES
from tickdisk.studies.checkpoint.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
