"""The study that compares servers: the same experiments on every server of the table of experiments.

Each server gets the analysis of the switchback and of the join burst that the studies of these names give the first server.
`study` reads the run folders, states the effects and the verdicts on every other server, and shows all servers side by side.
"""

from tickdisk.report.other_servers.compute import Results, compute
from tickdisk.report.other_servers.show import FIGURES, TABLES
from tickdisk.report.other_servers.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(plan: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Study[Results]:
    """Compares the effects of storage latency on ticks, actions and joins between servers.

    Parameters
    ----------
    plan
        Path of the plan, as a text.
    runs
        Path of the folder of the run folders, as a text.
    tick_metric
        Tick metric that is tested beside the mean gap: one of `switchback.METRICS`, such as "gap_max_ms".
    action
        Kind of action whose mean latency is tested in the switchback, such as "teleport".
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
        If a parameter has a wrong type or range, or if neither a switchback nor a join burst of another server has run.
    """
    check_parameters(plan=plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    results = compute(plan, runs=runs, tick_metric=tick_metric, action=action, margin=margin, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
