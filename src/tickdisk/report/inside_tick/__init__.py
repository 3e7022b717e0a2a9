"""The study of the inside of ticks: which request, in which file, behind which lock, made ticks late; against injected stalls."""

from tickdisk.report.inside_tick.compute import Results, compute
from tickdisk.report.inside_tick.show import FIGURES, TABLES, around_tick
from tickdisk.report.inside_tick.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "around_tick", "study"]


def study(plan: str, *, runs: str, bootstrap_samples: int | None, seed: int | None) -> Study[Results]:
    """Returns where the late time of captured server lives went, and whether blame finds stalls that were injected.

    Parameters
    ----------
    plan, runs
        The plan file, and the folder of the run folders.
    bootstrap_samples, seed
        The samples of the bootstrap over blocks of ticks and over lives, and the seed of what is drawn; None: the planned ones.

    """
    check_parameters(plan=plan, runs=runs, bootstrap_samples=bootstrap_samples, seed=seed)
    results = compute(plan, runs=runs, bootstrap_samples=bootstrap_samples, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
