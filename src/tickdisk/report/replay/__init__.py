"""The study of the replay, in which the requests of a captured server life are made again on other devices.

Each captured thread is a stream, and each request is due at its captured time. `study` reads the results that the command
`tickdisk replay-study` writes, with the tables of replayed requests. The lag of a request is the delay that the tool or its
machine causes, and the time lost is the delay that earlier requests of its stream cause on the device. The study decides whether
every request was made again, whether the lag of this project's issuer is small, whether requests at the end are as late as
requests at the beginning (also for fio), and whether the slowest device delays requests in comparison with the fastest.
"""

from tickdisk.report.parameters import check_parameters
from tickdisk.report.replay.compute import Results, compute
from tickdisk.report.replay.show import FIGURES, TABLES
from tickdisk.report.replay.state import state
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(replay: str, *, seed: int = 42) -> Study[Results]:
    """Analyses the lag of the issuer beside that of fio, the time lost to each device, and the service times.

    Parameters
    ----------
    replay
        Path of the file that `tickdisk replay-study` wrote, as a text. The tables of requests that it names are in its folder.
    seed
        Seed of the bootstrap samples.

    Returns
    -------
    Study
        The study, which a notebook shows and saves.

    Raises
    ------
    TickdiskError
        If a parameter has a wrong type or range, if a file is missing, or if no replay was made by this project's issuer.
    """
    check_parameters(replay=replay, seed=seed)
    results = compute(replay, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
