"""The study of storage pools: captured requests of a database on pools of several layouts, depths and numbers.

`study` reads the captures in `data/samples`, runs them on the pools of `data/pools.yaml` in simulated time, and sets the results
beside those of the Shape study. A simulation is repeated with other seeds of what the devices draw, and the seed is the unit of
analysis.
"""

from tickdisk.studies.pools.compute import compute
from tickdisk.studies.pools.show import FIGURES, TABLES
from tickdisk.studies.pools.state import state
from tickdisk.studies.study import Analysis

__all__ = ["study"]

study = Analysis(compute, state, FIGURES, TABLES)
