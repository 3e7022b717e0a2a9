"""The switchback study: the device changes inside one server life."""

from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study
from tickdisk.report.switchback.compute import ALWAYS, METRICS, Results, compute
from tickdisk.report.switchback.show import FIGURES, TABLES
from tickdisk.report.switchback.state import state

__all__ = ["ALWAYS", "METRICS", "Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Returns effects of storage latency on tick gaps and on one kind of action, from contrasts within lives.

    Parameters
    ----------
    plan, runs
        The plan file, and the folder of the run folders.
    tick_metric
        One of METRICS: the tick metric beside the mean gap.
    action
        The kind of action whose mean latency is tested, such as "teleport".
    margin, seed
        The margin of equivalence as a ratio less 1, and the seed of what is drawn; None: the planned ones.

    """
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
