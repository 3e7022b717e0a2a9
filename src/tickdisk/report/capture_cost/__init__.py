"""The study of the cost of a capture, to a server and to a single system call.

In one server life some epochs are captured by bpftrace or strace and others are not, so that a life is compared with itself.
Beside it, a micro-workload reads from memory under each tool and under none. `study` reads the run folders of the experiment and
the table of the micro-workload, and returns the effects of each tool on the ticks of the server and on the time of one read.
"""

from tickdisk.report.capture_cost.compute import Results, compute
from tickdisk.report.capture_cost.show import FIGURES, TABLES
from tickdisk.report.capture_cost.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(plan: str, *, runs: str, micro: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Analyses the effects of captures on the ticks of the server, within lives, and on a micro-workload, within rounds.

    Parameters
    ----------
    plan
        Path of the plan, as a text.
    runs
        Path of the folder of the run folders, as a text.
    micro
        Path of the table that `tickdisk micro` wrote, as a text.
    margin
        Margin of equivalence, as a ratio less 1. If None, the margin of the plan.
    seed
        Seed of random draws. If None, the seed of the plan.

    Returns
    -------
    Study
        The study, which a notebook shows and saves.

    Raises
    ------
    TickdiskError
        If a parameter has a wrong type or range, or if no cell of the experiment has run.
    """
    check_parameters(plan=plan, runs=runs, micro=micro, margin=margin, seed=seed)
    results = compute(plan, runs=runs, micro=micro, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
