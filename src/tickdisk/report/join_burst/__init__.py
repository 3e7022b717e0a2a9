"""The join burst study: everybody joins at once, from a cold cache."""

from tickdisk.report.join_burst.compute import Results, compute
from tickdisk.report.join_burst.show import FIGURES, TABLES
from tickdisk.report.join_burst.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Returns effects of the device on join times and on ticks during the burst, from contrasts within blocks.

    Parameters
    ----------
    plan, runs
        The plan file, and the folder of the run folders.
    tick_metric
        The tick metric beside the mean gap, such as "gap_max_ms".
    margin, seed
        The margin of equivalence as a ratio less 1, and the seed of what is drawn; None: the planned ones.

    """
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
