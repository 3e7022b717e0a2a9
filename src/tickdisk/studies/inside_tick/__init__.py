"""The study of the inside of ticks, which explains the late time of captured server lives and tests the explanations.

The late time of a tick is the part of its gap beyond the budget. Blame attributes it to computing, or to waiting for storage, for
threads or for a core. During the lives, the device and the processor are stalled at random times. The claims say whether blame
names the stalls of the device, and whether it puts stalls of the processor down to storage by mistake.
"""

from tickdisk.studies.inside_tick.compute import Results, compute
from tickdisk.studies.inside_tick.show import FIGURES, TABLES, around_tick
from tickdisk.studies.inside_tick.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "around_tick", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
