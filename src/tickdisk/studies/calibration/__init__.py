"""The study of the emulated devices: what they realise on this machine, and how near that is to their models.

It states the floor of every device, which is the time that this machine adds to the model's latency, and decides whether
percentiles are near the model's at every queue depth. A point is judged if it is within the means of the machine, was measured
without too much load, and has enough requests. Other chains are other ways to have a slow block device.
"""

from tickdisk.studies.calibration.compute import Results, compute, verdict_of_points
from tickdisk.studies.calibration.show import FIGURES, TABLES
from tickdisk.studies.calibration.state import state
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["Results", "study", "verdict_of_points"]


def study(calibration: str, fidelity: str) -> Study[Results]:
    """Compares the realised latency, requests per second and bandwidth of every emulated device with those of its model.

    The parameters are the paths of the files that `tickdisk calibrate` and `tickdisk fidelity` wrote. The table of raw latencies
    lies in the folder of the first. Raises TickdiskError if a file is missing or of another version, or if the table belongs to
    another calibration.
    """
    check_parameters(calibration=calibration, fidelity=fidelity)
    results = compute(calibration, fidelity)
    return Study(results, state(results), FIGURES, TABLES)
