"""The study of the storage accesses of a server: what causes them, what they look like, and when they happen.

Some server lives are captured while players act. `study` reads the run folders of the experiment and the file of published
findings. The study estimates the accesses that each interaction of a player causes, the form of the requests, the share of data
that waits for a save, and the reads per region. It also has a generative model, which is the cost of each event of a routine of
the server. The model is fitted to some lives and predicts the others. Published findings become claims, which the captured lives
uphold, contradict or leave open.
"""

from tickdisk.report.accesses.compute import Results, compute
from tickdisk.report.accesses.show import FIGURES, TABLES
from tickdisk.report.accesses.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(
    plan: str, *, runs: str, published: str, margin: float | None, bootstrap_samples: int | None, seed: int | None
) -> Study[Results]:
    """Analyses the storage accesses of captured server lives, and compares them with published findings.

    Parameters
    ----------
    plan
        Path of the plan, as a text.
    runs
        Path of the folder of the run folders, as a text.
    published
        Path of the YAML file of published findings, as a text.
    margin
        Margin of equivalence, as a ratio less 1. If None, the margin of the plan.
    bootstrap_samples
        Number of samples of the bootstrap over lives. If None, the number of the plan.
    seed
        Seed of random draws. If None, the seed of the plan.

    Returns
    -------
    Study
        The study, which a notebook shows and saves.

    Raises
    ------
    TickdiskError
        If a parameter has a wrong type or range, if no cell of the experiment has run, or if a capture has no access to terrain
        or fewer than two saves.
    """
    check_parameters(plan=plan, runs=runs, published=published, margin=margin, bootstrap_samples=bootstrap_samples, seed=seed)
    results = compute(plan, runs=runs, published=published, margin=margin, bootstrap_samples=bootstrap_samples, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
