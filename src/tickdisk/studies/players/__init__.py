"""The study of players as a dose: how much longer ticks take on a slow device, for each player who is connected.

The latency of the device changes inside a server life, and the number of players changes from life to life. The contrast of a
life is paired within it. A line over the number of players is fitted within each block, in which every number has one life.
"""

from tickdisk.studies.players.compute import Results, compute
from tickdisk.studies.players.show import FIGURES, TABLES
from tickdisk.studies.players.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
