"""The calibration study: what the emulated devices realise on this machine, and how near they come to their models."""

from tickdisk.report.calibration.compute import Results, compute, verdict_of_points
from tickdisk.report.calibration.show import FIGURES, TABLES
from tickdisk.report.calibration.state import state
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

__all__ = ["Results", "study", "verdict_of_points"]


def study(calibration: str, fidelity: str) -> Study[Results]:
    """Returns realised latency, requests per second and bandwidth of every emulated device, beside what its model says.

    Parameters
    ----------
    calibration
        The file that `tickdisk calibrate` wrote; the table of raw latencies that it names is beside it.
    fidelity
        The file that `tickdisk fidelity` wrote.

    """
    check_parameters(calibration=calibration, fidelity=fidelity)
    results = compute(calibration, fidelity)
    return Study(results, state(results), FIGURES, TABLES)
