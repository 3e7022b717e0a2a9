"""The study of the switchback experiment, in which the device changes inside one server life.

A life is divided into epochs. Every arm, that is every condition such as a latency of the disk, has one epoch in each life, so
that each life is compared with itself. The study asks whether storage latency makes tick gaps and actions longer, and from
which latency on. `study` reads the run folders of the experiment and returns the effects of all arms, with controls and
verdicts, the slope of each metric over the latency, and the effect that an epoch has on the next one. `METRICS` names the tick
metrics that a study can test, and `ALWAYS` is the one that every study tests.
"""

from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study
from tickdisk.report.switchback.compute import ALWAYS, METRICS, Results, compute
from tickdisk.report.switchback.show import FIGURES, TABLES
from tickdisk.report.switchback.state import state

__all__ = ["ALWAYS", "METRICS", "Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Analyses the effects of storage latency on tick gaps and on one kind of action, by comparisons within server lives.

    Parameters
    ----------
    plan
        Path of the plan, as a text.
    runs
        Path of the folder of the run folders, as a text.
    tick_metric
        Tick metric that is tested beside the mean gap: one of `METRICS`, such as "gap_max_ms".
    action
        Kind of action whose mean latency is tested, such as "teleport".
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
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
