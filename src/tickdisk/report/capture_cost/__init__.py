"""The study of what a capture costs a server, and a single system call."""

from tickdisk.report.capture_cost.compute import Results, compute
from tickdisk.report.capture_cost.show import FIGURES, TABLES
from tickdisk.report.capture_cost.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(plan: str, *, runs: str, micro: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Returns effects of a capture on the server's ticks, within lives, and on a micro-workload, within rounds.

    Parameters
    ----------
    plan, runs
        The plan file, and the folder of the run folders.
    micro
        The table that `tickdisk micro` wrote.
    margin, seed
        The margin of equivalence as a ratio less 1, and the seed of what is drawn; None: the planned ones.

    """
    check_parameters(plan=plan, runs=runs, micro=micro, margin=margin, seed=seed)
    results = compute(plan, runs=runs, micro=micro, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
