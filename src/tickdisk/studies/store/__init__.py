"""The study of the store, which really saves a game's state under several algorithms on this machine.

`study` reads the tables that `tickdisk checkpoint study` writes. It compares the time that each algorithm adds to a tick with two
cost models: the paper's model (Vaz Salles et al. 2009) with the paper's parameters, and a model that was calibrated on lives on
this machine at other update rates. A point is an algorithm at an update rate. For each game, an algorithm is recommended.
"""

from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.store.compute import Results, compute
from tickdisk.studies.store.show import FIGURES, TABLES
from tickdisk.studies.store.state import state
from tickdisk.studies.study import Study

__all__ = ["Results", "study"]


def study(tables: str, *, published: str) -> Study[Results]:
    """Compares the time that real algorithms add to a tick with two cost models, and chooses an algorithm for each game.

    `tables` is the folder that `tickdisk checkpoint study` wrote, and `published` is the YAML file of published numbers. Raises
    TickdiskError if a parameter has a wrong type, or if a file is missing or cannot be read.
    """
    check_parameters(tables=tables, published=published)
    results = compute(tables, published=published)
    return Study(results, state(results), FIGURES, TABLES)
