"""The study of network stacks: the same prototype of a game on each, with players who stand still and players who act.

`study` reads the tables that `tickdisk netcode study` wrote, and sets the results beside those of Net-Celerity. The life of a
server is the unit of analysis. A step in which the busiest thread was not the server's, or in which the clients were saturated,
says nothing about the stack and is left out.
"""

from tickdisk.studies.netcode.compute import compute
from tickdisk.studies.netcode.show import FIGURES, TABLES
from tickdisk.studies.netcode.state import state
from tickdisk.studies.study import Analysis

__all__ = ["study"]

study = Analysis(compute, state, FIGURES, TABLES)
