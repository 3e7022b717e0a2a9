"""The study of bursts of joins: the rate, in regions per second, from which players feel a slow disk.

In each life the rate changes from burst to burst, and the lives of a block have different disks. The page cache forgets the world
before each burst, and a server that stores regions in files of their own lets players join on corners of four regions.
"""

from tickdisk.studies.bursts.compute import Results, compute
from tickdisk.studies.bursts.show import FIGURES, TABLES
from tickdisk.studies.bursts.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
"""Computes what a slow disk costs ticks and joins, by the rate of a burst."""
