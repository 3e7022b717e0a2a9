"""The study of the cost of a capture, to a server and to a single system call.

In one server life some epochs are captured by bpftrace or strace and others are not, so that a life is compared with itself.
Beside it, a micro-workload reads from memory under each tool and under none.
"""

from tickdisk.studies.capture_cost.compute import compute
from tickdisk.studies.capture_cost.show import FIGURES, TABLES
from tickdisk.studies.capture_cost.state import state
from tickdisk.studies.study import Analysis

__all__ = ["study"]

study = Analysis(compute, state, FIGURES, TABLES)
