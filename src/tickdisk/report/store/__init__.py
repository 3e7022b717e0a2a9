"""The study of the store: real lives of every algorithm beside what cost models say, and which algorithm for which game."""

from tickdisk.report.parameters import check_parameters
from tickdisk.report.store.compute import Results, compute
from tickdisk.report.store.show import FIGURES, TABLES
from tickdisk.report.store.state import state
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(tables: str, *, published: str) -> Study[Results]:
    """Returns what real algorithms add to a tick (ms), how far two cost models are off, and an advice for each game.

    Parameters
    ----------
    tables
        The folder that `tickdisk checkpoint study` wrote.
    published
        The YAML file of published numbers.

    """
    check_parameters(tables=tables, published=published)
    results = compute(tables, published=published)
    return Study(results, state(results), FIGURES, TABLES)
