"""The replay study: were captured requests made again when they were due, and what does a slow device cost."""

from tickdisk.report.parameters import check_parameters
from tickdisk.report.replay.compute import Results, compute
from tickdisk.report.replay.show import FIGURES, TABLES
from tickdisk.report.replay.state import state
from tickdisk.report.study import Study

__all__ = ["Results", "study"]


def study(replay: str, *, seed: int = 42) -> Study[Results]:
    """Returns the lag of the issuer beside fio's, the time lost to each device, and service times.

    Parameters
    ----------
    replay
        The file that `tickdisk replay-study` wrote; the tables of requests that it names are beside it.
    seed
        The seed of the bootstrap samples.

    """
    check_parameters(replay=replay, seed=seed)
    results = compute(replay, seed=seed)
    return Study(results, state(results), FIGURES, TABLES)
