"""The study of checkpoint recovery in simulation: six algorithms under a published cost model, and the published numbers."""

from tickdisk.report.checkpoint.compute import Results, compute
from tickdisk.report.checkpoint.show import FIGURES, TABLES
from tickdisk.report.checkpoint.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(sweep: str, *, published: str) -> Study[Results]:
    """Returns overhead (ms per tick), time to checkpoint (s) and recovery time (s) of six algorithms, beside published numbers.

    Parameters
    ----------
    sweep
        The folder that `tickdisk checkpoint sweep` wrote.
    published
        The YAML file of published numbers.

    """
    check_parameters(sweep=sweep, published=published)
    results = compute(sweep, published=published)
    return Study(results, state(results), FIGURES, TABLES)
