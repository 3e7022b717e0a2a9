"""The study of the switchback experiment, in which the device changes inside one server life.

A life is divided into epochs. Every arm has one epoch in each life, so that each life is compared with itself. The study asks
whether storage latency makes tick gaps and actions longer, and from which latency on.
"""

from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study
from tickdisk.studies.switchback.compute import ALWAYS, METRICS, Results, compute
from tickdisk.studies.switchback.show import FIGURES, TABLES
from tickdisk.studies.switchback.state import state

__all__ = ["ALWAYS", "METRICS", "Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Analyses the effects of storage latency on tick gaps and on one kind of action, by comparisons within server lives.

    `tick_metric` is one of `METRICS` and is tested beside the mean gap. `action` is the kind of action whose mean latency is
    tested, such as "teleport". `margin` is a ratio less 1. If it or `seed` is None, it is the plan's. Raises TickdiskError if a
    parameter has a wrong type or range, or if no cell of the experiment has run.
    """
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
