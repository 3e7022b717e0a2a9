"""The study of storage pools: captured requests of a database on pools of several layouts, depths and numbers.

`study` reads the captures in `data/samples`, runs them on the pools of `data/pools.yaml` in simulated time, and sets the results
beside those of the Shape study. A simulation is repeated with other seeds of what the devices draw, and the seed is the unit of
analysis.
"""

from tickdisk.report.parameters import check_parameters
from tickdisk.report.pools.compute import Results, compute
from tickdisk.report.pools.show import FIGURES, TABLES
from tickdisk.report.pools.state import state
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(
    plan: str, *, samples: str, published: str, pools: str, devices: str, margin: float | None, seed: int | None
) -> Study[Results]:
    """Runs the captured workloads on simulated pools, and compares throughput over layouts, depths and numbers of pools.

    Parameters
    ----------
    plan
        Path of the plan, as a text.
    samples
        Path of the folder of the captures, as a text.
    published
        Path of the file with the published table, as a text.
    pools, devices
        Paths of the files with the pools and with the device models, as texts.
    margin
        Margin of equivalence, as a ratio less 1. If None, the margin of the plan.
    seed
        First seed of what the devices draw. If None, the seed of the plan.

    Returns
    -------
    Study
        The study, which a notebook shows and saves.

    Raises
    ------
    TickdiskError
        If a parameter has a wrong type or range, or a file cannot be read.
    """
    check_parameters(plan=plan, samples=samples, published=published, pools=pools, devices=devices, margin=margin, seed=seed)
    results = compute(
        plan, samples=samples, published=published, pools_file=pools, devices_file=devices, margin=margin, seed=seed
    )
    return Study(results, state(results), FIGURES, TABLES)
