"""The study of checkpoint recovery in simulation, which repeats the paper of Vaz Salles et al. (2009).

Six algorithms save a game's state under the paper's cost model. The paper leaves some choices open, which are called readings. An
anchor is a number that the paper prints, with the simulated value beside it and a bound on their distance. Each anchor becomes a
claim. If the stated readings miss an anchor, the study names the other reading that comes nearest.
"""

from tickdisk.studies.checkpoint.compute import Results, compute
from tickdisk.studies.checkpoint.show import FIGURES, TABLES
from tickdisk.studies.checkpoint.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["Results", "study"]


def study(sweep: str, *, published: str) -> Study[Results]:
    """Compares the simulated costs of six checkpoint algorithms with the published numbers.

    The costs are the overhead in ms per tick, the time to checkpoint in s, and the recovery time in s. `sweep` is the path of the
    folder that `tickdisk checkpoint sweep` wrote, and `published` that of the YAML file of numbers. Raises TickdiskError if a
    file is missing or cannot be read.
    """
    check_parameters(sweep=sweep, published=published)
    results = compute(sweep, published=published)
    return Study(results, state(results), FIGURES, TABLES)
