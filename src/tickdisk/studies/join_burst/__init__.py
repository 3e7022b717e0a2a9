"""The study of the join burst, an experiment in which all players join a server within seconds, from a cold page cache.

In a block every arm has a server life of its own, so that the lives of a block are compared with each other. The study asks
whether the device makes joins and the ticks during the burst longer.
"""

from tickdisk.studies.join_burst.compute import Results, compute
from tickdisk.studies.join_burst.show import FIGURES, TABLES
from tickdisk.studies.join_burst.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Analyses the effects of the device on join times and on tick gaps during the burst, by comparisons within blocks.

    `tick_metric` is one of `switchback.METRICS` and is tested beside the mean gap. `margin` is a ratio less 1. If it or `seed` is
    None, it is the plan's. Raises TickdiskError if a parameter has a wrong type or range, or if no cell of the experiment has
    run.
    """
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
