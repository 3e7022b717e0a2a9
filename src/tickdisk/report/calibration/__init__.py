"""The study of the emulated devices: what they realise on this machine, and how near that is to their models.

`study` reads the two files that `tickdisk calibrate` and `tickdisk fidelity` write. For every device it states the realised
latency, requests per second and bandwidth, beside the nominal values of the model, and the floor, which is the time that this
machine adds to the model's latency. It decides whether each device keeps the bounds that are fixed for any machine, and whether
percentiles are near the model's at every queue depth. A point is one device, kind of request and queue depth. A point is judged
if it is within the means of the machine, was measured without too much load, and has enough requests. The study also shows other
chains, which are other ways to have a slow block device. `verdict_of_points` is the rule that decides over points.
"""

from tickdisk.report.calibration.compute import Results, compute, verdict_of_points
from tickdisk.report.calibration.show import FIGURES, TABLES
from tickdisk.report.calibration.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study", "verdict_of_points"]


def study(calibration: str, fidelity: str) -> Study[Results]:
    """Compares the realised latency, requests per second and bandwidth of every emulated device with those of its model.

    Parameters
    ----------
    calibration
        Path of the file that `tickdisk calibrate` wrote, as a text. The table of raw latencies that it names is in its folder.
    fidelity
        Path of the file that `tickdisk fidelity` wrote, as a text.

    Returns
    -------
    Study
        The study, which a notebook shows and saves.

    Raises
    ------
    TickdiskError
        If a file is missing or of another version, or if the table of raw latencies belongs to another calibration.
    """
    check_parameters(calibration=calibration, fidelity=fidelity)
    results = compute(calibration, fidelity)
    return Study(results, state(results), FIGURES, TABLES)
