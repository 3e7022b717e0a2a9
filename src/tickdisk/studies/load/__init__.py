"""The study of the load that a device carries: how many players, and what gives out first with more of them.

In each life the number of players goes up in steps, on one device. A search ends at the first step at which ticks or actions
come too late. The same step on the fast device, and the processor time of server and clients, tell what ended it.
"""

from tickdisk.studies.load.compute import Results, compute
from tickdisk.studies.load.show import FIGURES, TABLES
from tickdisk.studies.load.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
