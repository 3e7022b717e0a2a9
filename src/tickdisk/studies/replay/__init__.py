"""The study of the replay, in which the requests of a captured server life are made again on other devices.

Each captured thread is a stream, and each request is due at its captured time. The lag of a request is the delay that the tool or
its machine causes, and the time lost is the delay that earlier requests of its stream cause on the device. The study decides
whether every request was made again, whether the lag is small and does not grow, and whether the slowest device delays requests.
"""

from tickdisk.studies.replay.compute import Results, compute
from tickdisk.studies.replay.show import FIGURES, TABLES
from tickdisk.studies.replay.state import state
from tickdisk.studies.study import Analysis

__all__ = ["Results", "study"]

study = Analysis(compute, state, FIGURES, TABLES)
