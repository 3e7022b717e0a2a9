"""The study of the cost of a capture, to a server and to a single system call.

In one server life some epochs are captured by bpftrace or strace and others are not, so that a life is compared with itself.
Beside it, a micro-workload reads from memory under each tool and under none.
"""

from tickdisk.studies.capture_cost.compute import Results, compute
from tickdisk.studies.capture_cost.show import FIGURES, TABLES
from tickdisk.studies.capture_cost.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["study"]


def study(plan: str, *, runs: str, micro: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Analyses the effects of captures on the ticks of the server, within lives, and on a micro-workload, within rounds.

    `plan`, `runs` and `micro` are the paths of plan.json, of the folder of the run folders, and of the table that `tickdisk
    micro` wrote. `margin` is a ratio less 1. If `margin` or `seed` is None, it is that of the plan. Raises TickdiskError if a
    parameter has a wrong type or range, or if no cell of the experiment has run.
    """
    check_parameters(plan=plan, runs=runs, micro=micro, margin=margin, seed=seed)
    results = compute(plan, runs=runs, micro=micro, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
