"""The study of the inside of ticks, which explains the late time of captured server lives and tests the explanations.

The late time of a tick is the part of its gap beyond the budget. Blame attributes it to computing, or to waiting for storage, for
threads or for a core. During the lives, the device and the processor are stalled at random times. The claims say whether blame
names the stalls of the device, and whether it puts stalls of the processor down to storage by mistake.
"""

from tickdisk.studies.inside_tick.compute import Results, compute
from tickdisk.studies.inside_tick.show import FIGURES, TABLES, around_tick
from tickdisk.studies.inside_tick.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["Results", "around_tick", "study"]


def study(plan: str, *, runs: str, bootstrap_samples: int | None, seed: int | None) -> Study[Results]:
    """Explains the late time of captured server lives, and checks the explanations by injected stalls.

    The bootstrap draws samples of blocks of ticks and of lives. If their number or the seed is None, it is that of the plan.
    Raises TickdiskError if a parameter has a wrong type or range, if no cell of the experiment has run, if the cells ran on
    different kinds of machine, or if no wait of any life was captured.
    """
    check_parameters(plan=plan, runs=runs, bootstrap_samples=bootstrap_samples, seed=seed)
    results = compute(plan, runs=runs, bootstrap_samples=bootstrap_samples, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
