"""The study of the emulated devices: what they realise on this machine, and how near that is to their models.

It states the floor of every device, which is the time that this machine adds to the model's latency, and decides whether
percentiles are near the model's at every queue depth. A point is judged if it is within the means of the machine, was measured
without too much load, and has enough requests. Other chains are other ways to have a slow block device.
"""

from tickdisk.studies.calibration.compute import Results, compute, verdict_of_points
from tickdisk.studies.calibration.show import FIGURES, TABLES
from tickdisk.studies.calibration.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study", "verdict_of_points"]

study = Analysis(compute, state, FIGURES, TABLES)
