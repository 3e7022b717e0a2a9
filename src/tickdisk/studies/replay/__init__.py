"""The study of the replay, in which the requests of a captured server life are made again on other devices.

Each captured thread is a stream, and each request is due at its captured time. The lag of a request is the delay that the tool or
its machine causes, and the time lost is the delay that earlier requests of its stream cause on the device. The study decides
whether every request was made again, whether the lag is small and does not grow, and whether the slowest device delays requests.
"""

from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.replay.compute import Results, compute
from tickdisk.studies.replay.show import FIGURES, TABLES
from tickdisk.studies.replay.state import state
from tickdisk.studies.study import Study

__all__ = ["Results", "study"]


def study(replay: str, *, seed: int = 42) -> Study[Results]:
    """Analyses the lag of the issuer beside that of fio, the time lost to each device, and the service times.

    `replay` is the file that `tickdisk replay-study` wrote, with the tables of requests in its folder. Raises TickdiskError if a
    parameter has a wrong type or range, if a file is missing, or if no replay was made by this project's issuer.
    """
    check_parameters(replay=replay, seed=seed)
    results = compute(replay, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
