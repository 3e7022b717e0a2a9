"""The study of the inside of ticks, which explains the late time of captured server lives and tests the explanations.

The late time of a tick is the part of its gap beyond the budget. Blame attributes late time to causes: computing, or waiting for
storage, for threads or for a core. Waits for storage are followed to the file and the request, also behind locks. `study` reads
the run folders of the experiment. It states the share of late time that each cause explains, puts the ticks with the most late
time into sentences, and states the time that slow actions waited for storage. During the lives, the device and the processor are
stalled at random times. The claims say whether blame names the stalls of the device, and whether it puts stalls of the processor
down to storage by mistake.
`around_tick` draws the time around any tick.
"""

from tickdisk.report.inside_tick.compute import Results, compute
from tickdisk.report.inside_tick.show import FIGURES, TABLES, around_tick
from tickdisk.report.inside_tick.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "around_tick", "study"]


def study(plan: str, *, runs: str, bootstrap_samples: int | None, seed: int | None) -> Study[Results]:
    """Explains the late time of captured server lives, and checks the explanations by injected stalls.

    Blame has to name the injected stalls of the device, and must not attribute stalls of the processor to storage.

    Parameters
    ----------
    plan
        Path of the plan, as a text.
    runs
        Path of the folder of the run folders, as a text.
    bootstrap_samples
        Number of samples of the bootstrap over blocks of ticks and over lives. If None, the number of the plan.
    seed
        Seed of random draws. If None, the seed of the plan.

    Returns
    -------
    Study
        The study, which a notebook shows and saves.

    Raises
    ------
    TickdiskError
        If a parameter has a wrong type or range, if no cell of the experiment has run, if the cells ran on different kinds of
        machine, or if a life has no captured waits.
    """
    check_parameters(plan=plan, runs=runs, bootstrap_samples=bootstrap_samples, seed=seed)
    results = compute(plan, runs=runs, bootstrap_samples=bootstrap_samples, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
