"""The study of the join burst, an experiment in which all players join a server within seconds, from a cold page cache.

In a block every arm, that is every condition such as a latency of the disk, has a server life of its own, so that the lives of a
block are compared with each other. The study asks whether the device makes joins and the ticks during the burst longer. `study`
reads the run folders of the experiment and returns the effects of all arms, with controls and verdicts.
"""

from tickdisk.report.join_burst.compute import Results, compute
from tickdisk.report.join_burst.show import FIGURES, TABLES
from tickdisk.report.join_burst.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Analyses the effects of the device on join times and on tick gaps during the burst, by comparisons within blocks.

    Parameters
    ----------
    plan
        Path of the plan, as a text.
    runs
        Path of the folder of the run folders, as a text.
    tick_metric
        Tick metric that is tested beside the mean gap: one of `switchback.METRICS`, such as "gap_max_ms".
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
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
