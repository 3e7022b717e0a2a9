"""The study of the store, which really saves a game's state under several algorithms on this machine.

`study` reads the tables that `tickdisk checkpoint study` writes. They have the lives that each algorithm was played in, with the
time that it really added to a tick, and the predictions of two cost models. The paper's model (Vaz Salles et al. 2009) has the
paper's parameters. The calibrated model was fitted to lives on this machine at other update rates. A point is an algorithm at an
update rate. The study decides whether the real overhead exceeds the paper's model as much as was published, and how near the
calibrated model is. It also compares twelve algorithms on games, and recommends an algorithm for each game.
"""

from tickdisk.report.parameters import check_parameters
from tickdisk.report.store.compute import Results, compute
from tickdisk.report.store.show import FIGURES, TABLES
from tickdisk.report.store.state import state
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(tables: str, *, published: str) -> Study[Results]:
    """Compares the time that real algorithms add to a tick with two cost models, and chooses an algorithm for each game.

    Parameters
    ----------
    tables
        Path of the folder that `tickdisk checkpoint study` wrote, as a text.
    published
        Path of the YAML file of published numbers, as a text.

    Returns
    -------
    Study
        The study, which a notebook shows and saves.

    Raises
    ------
    TickdiskError
        If a parameter has a wrong type, or if a file is missing or cannot be read.
    """
    check_parameters(tables=tables, published=published)
    results = compute(tables, published=published)
    return Study(results, state(results), FIGURES, TABLES)
