"""The study of storage pools: captured requests of a database on pools of several layouts, depths and numbers.

`study` reads the captures in `data/samples`, runs them on the pools of `data/pools.yaml` in simulated time, and sets the results
beside those of the Shape study. A simulation is repeated with other seeds of what the devices draw, and the seed is the unit of
analysis.
"""

from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.pools.compute import Results, compute
from tickdisk.studies.pools.show import FIGURES, TABLES
from tickdisk.studies.pools.state import state
from tickdisk.studies.study import Study

__all__ = ["study"]


def study(
    plan: str, *, samples: str, published: str, pools: str, devices: str, margin: float | None, seed: int | None
) -> Study[Results]:
    """Runs the captured workloads on simulated pools, and compares throughput over layouts, depths and numbers of pools.

    `samples` is the folder of the captures, and `published` has the published table. `margin` is a ratio less 1, and `seed` is
    the first seed of what the devices draw. If one of them is None, it is the plan's. Raises TickdiskError if a parameter has a
    wrong type or range, or a file cannot be read.
    """
    check_parameters(plan=plan, samples=samples, published=published, pools=pools, devices=devices, margin=margin, seed=seed)
    results = compute(
        plan, samples=samples, published=published, pools_file=pools, devices_file=devices, margin=margin, seed=seed
    )
    return Study(results, state(results), FIGURES, TABLES)
