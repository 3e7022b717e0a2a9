"""The study of storage accesses: who causes them, what they look like, when they happen, and a model that generates them."""

from tickdisk.report.accesses.compute import Results, compute
from tickdisk.report.accesses.show import FIGURES, TABLES
from tickdisk.report.accesses.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(
    plan: str, *, runs: str, published: str, margin: float | None, bootstrap_samples: int | None, seed: int | None
) -> Study[Results]:
    """Returns the storage accesses of captured server lives, held against published findings.

    Parameters
    ----------
    plan, runs
        The plan file, and the folder of the run folders.
    published
        The YAML file of published findings.
    margin, bootstrap_samples, seed
        The margin of equivalence as a ratio less 1, the samples of the bootstrap over lives, and the seed of what is drawn;
        None: the planned ones.

    """
    check_parameters(plan=plan, runs=runs, published=published, margin=margin, bootstrap_samples=bootstrap_samples, seed=seed)
    results = compute(plan, runs=runs, published=published, margin=margin, bootstrap_samples=bootstrap_samples, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
