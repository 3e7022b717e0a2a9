"""The study of the store, which really saves a game's state under several algorithms on this machine.

`study` reads the tables that `tickdisk checkpoint study` writes. It compares the time that each algorithm adds to a tick with two
cost models: the paper's model (Vaz Salles et al. 2009) with the paper's parameters, and a model that was calibrated on lives on
this machine at other update rates. A point is an algorithm at an update rate. For each game, an algorithm is recommended.
"""

from tickdisk.studies.store.compute import Results, compute
from tickdisk.studies.store.show import FIGURES, TABLES
from tickdisk.studies.store.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
