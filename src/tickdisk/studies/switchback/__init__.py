"""The study of the switchback experiment, in which the device changes inside one server life.

A life is divided into epochs. Every arm has one epoch in each life, so that each life is compared with itself. The study asks
whether storage latency makes tick gaps and actions longer, and from which latency on.
"""

from tickdisk.studies.study import Analysis
from tickdisk.studies.switchback.compute import ALWAYS, METRICS, Results, compute
from tickdisk.studies.switchback.show import FIGURES, TABLES
from tickdisk.studies.switchback.state import state

__all__ = ["ALWAYS", "METRICS", "Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
