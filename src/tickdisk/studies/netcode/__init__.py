"""The study of network stacks: the same prototype of a game on each, with players who stand still and players who act.

`study` reads the tables that `tickdisk netcode study` wrote, and sets the results beside those of Net-Celerity. The life of a
server is the unit of analysis. A step in which the busiest thread was not the server's, or in which the clients were saturated,
says nothing about the stack and is left out.
"""

from tickdisk.studies.netcode.compute import Results, compute
from tickdisk.studies.netcode.show import FIGURES, TABLES
from tickdisk.studies.netcode.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["study"]


def study(plan: str, *, tables: str, runs: str, published: str, margin: float | None) -> Study[Results]:
    """Compares network stacks: round-trip times, ages of updates, processor time, memory and bytes.

    The switchbacks in `runs` tell whether a slow disk shows in the round-trip time of the game servers. `margin` is a ratio less
    1, and None stands for the plan's. Raises TickdiskError if a parameter is wrong, or a file cannot be read.
    """
    check_parameters(plan=plan, tables=tables, runs=runs, published=published, margin=margin)
    results = compute(plan, tables=tables, runs=runs, published=published, margin=margin)
    return Study(results, state(results), FIGURES, TABLES)
