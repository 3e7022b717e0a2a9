"""The study of memory: what a slow disk costs with all of a world in the page cache, with none of it, and with too little memory.

A control group limits the memory of the server, and with it the page cache that counts for it. Its refaults say whether the limit
was met.
"""

from tickdisk.studies.memory.compute import Results, compute
from tickdisk.studies.memory.show import FIGURES, TABLES
from tickdisk.studies.memory.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
