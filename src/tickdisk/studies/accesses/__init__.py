"""The study of the storage accesses of a server: what causes them, what they look like, and when they happen.

Some server lives are captured while players act. The study estimates the accesses that each interaction of a player causes. It
fits a generative model, which is the cost of each event of a routine of the server, to some lives, and predicts the others.
Published findings become claims.
"""

from tickdisk.studies.accesses.compute import Results, compute
from tickdisk.studies.accesses.show import FIGURES, TABLES
from tickdisk.studies.accesses.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["study"]


def study(
    plan: str, *, runs: str, published: str, margin: float | None, bootstrap_samples: int | None, seed: int | None
) -> Study[Results]:
    """Analyses the storage accesses of captured server lives, and compares them with published findings.

    `plan`, `runs` and `published` are the paths of plan.json, of the folder of the run folders, and of the YAML file of findings.
    `margin` is a ratio less 1. If `margin`, `bootstrap_samples` or `seed` is None, it is that of the plan. Raises TickdiskError
    if a parameter has a wrong type or range, if no cell of the experiment has run, or if a capture has no access to terrain or
    fewer than two saves.
    """
    check_parameters(plan=plan, runs=runs, published=published, margin=margin, bootstrap_samples=bootstrap_samples, seed=seed)
    results = compute(plan, runs=runs, published=published, margin=margin, bootstrap_samples=bootstrap_samples, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
