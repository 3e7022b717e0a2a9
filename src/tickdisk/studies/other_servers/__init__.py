"""The study that compares servers: the same experiments on every server of the table of experiments.

Each server gets the analysis of the switchback and of the join burst that the studies of these names give the first server. The
effects and the verdicts on every other server are stated, and all servers are shown side by side.
"""

from tickdisk.studies.other_servers.compute import Results, compute
from tickdisk.studies.other_servers.show import FIGURES, TABLES
from tickdisk.studies.other_servers.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Compares the effects of storage latency on ticks, actions and joins between servers.

    `tick_metric` is one of `switchback.METRICS` and is tested beside the mean gap. `action` is the kind of action whose mean
    latency is tested, such as "teleport". `margin` is a ratio less 1. If it or `seed` is None, it is the plan's. Raises
    TickdiskError if a parameter has a wrong type or range, or if neither a switchback nor a join burst of another server has run.
    """
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
