"""Estimates which interaction of a player causes accesses to which data.

Windows in which only one interaction took place are compared with quiet windows, in which no interaction took place.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.accesses.life import INTERACTIONS, UNLOAD, UNLOADED, Life, counts, interactions, kinds
from tickdisk.accesses.published import DIRECTIONS, Data, Published
from tickdisk.stats import adjusted, over_lives

_NAMES = list(dict.fromkeys(INTERACTIONS.values()))
_KEYS = ["interaction", "data", "op"]


def effects(lives: Sequence[Life], alpha: float) -> pd.DataFrame:
    """Estimates how many requests one interaction of a player causes, by data type and direction.

    There is one row per interaction, data and op (read or write). The other columns are per_event (requests per interaction, the
    mean over lives), low and high (Student's interval over lives, of confidence 1 - alpha), p (one-sided, against no request),
    p_adjusted (by Benjamini and Hochberg (1995) over the whole table), lives, windows and events (number of interactions in these
    windows). An interaction that was alone in no window of any life has no rows.

    A window ends with a save, so that data which are written later are still in the window of their cause. The estimate in a life
    is the requests in the windows with this interaction alone, less the requests that quiet windows at that time have, over the
    number of interactions.

    The interaction `UNLOAD` ("region flush") stands for a position change or a leave whose effect comes when the place that was
    left is unloaded. Nothing else causes these accesses, so that its estimate is all of them over the number of such places. They
    are left out of the estimates of all other interactions.
    """
    rows = [row for life in lives for row in _of_life(life)]
    estimates = pd.DataFrame(rows, columns=[*_KEYS, "per_event", "windows", "events"])
    table = []
    for key, of_lives in estimates.groupby(_KEYS, sort=False):
        mean = over_lives(of_lives["per_event"], alpha)
        size = (int(of_lives["windows"].sum()), float(of_lives["events"].sum()))
        table.append((*key, mean.value, mean.low, mean.high, mean.p_above, mean.n, *size))
    columns = [*_KEYS, "per_event", "low", "high", "p", "lives", "windows", "events"]
    result = pd.DataFrame(table, columns=columns).astype({"p": float})
    return result.assign(p_adjusted=adjusted(result["p"], "scan"))


def _of_life(life: Life) -> Iterator[tuple[str, str, str, float, int, float]]:
    """Yields interaction, data, op, excess of requests per event, number of windows and number of events of one life."""
    did, seen = interactions(life, life.edges_ns), counts(life.accesses, life.edges_ns)
    quiet = (did[_NAMES] == 0).all(axis=1).to_numpy()
    for name, (data, op) in product(_NAMES, kinds(seen)):
        alone = ((did[name] > 0) & (did[_NAMES].drop(columns=name) == 0).all(axis=1)).to_numpy()
        events = float(did.loc[alone, name].sum())
        if op != "sync" and data != UNLOADED and events > 0 and quiet.any():
            of = seen[data, op].to_numpy()
            excess = float((of - _as_quiet(of, quiet, np.diff(life.edges_ns)))[alone].sum())
            yield name, data, op, excess / events, int(alone.sum()), events
    events = float(did[UNLOAD].sum())
    for data, op in kinds(seen):
        if op != "sync" and data == UNLOADED and events > 0:
            yield UNLOAD, "terrain", op, float(seen[data, op].sum()) / events, int((seen[data, op] > 0).sum()), events


def _as_quiet(of: NDArray[np.float64], quiet: NDArray[np.bool_], length_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns the number of requests that each window would have if it were quiet.

    A stretch of adjacent quiet windows has one mean rate, at its middle. Between the middles the rate is interpolated linearly,
    because the requests that the server makes by itself change during a life, so that quiet windows far away are no standard.
    """
    stretch = np.cumsum(np.diff(quiet, prepend=False) & quiet)[quiet]
    middle_ns = np.cumsum(length_ns) - length_ns / 2
    size = np.bincount(stretch, length_ns[quiet])[1:]
    centre_ns = np.bincount(stretch, (middle_ns * length_ns)[quiet])[1:] / size
    return np.interp(middle_ns, centre_ns, np.bincount(stretch, of[quiet])[1:] / size) * length_ns


def compare(estimates: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Places the estimated `effects` of interactions beside the findings of PokeSto, to show which accesses both have.

    There is one row for each combination of an interaction (the published ones and `UNLOAD`), a data type and a direction. The
    columns are interaction, data, op, published (whether the published study says that there are such accesses) and those of
    `effects`. If `estimates` has no such row, the estimates are NaN, and lives, windows and events are 0.
    """
    causes = [(row.interaction, row.data, row.directions) for row in published.interactions] + [(UNLOAD, [], [])]
    rows = [
        (interaction, data, op, data in of and letter in directions)
        for interaction, of, directions in causes
        for data in get_args(Data)
        for op, letter in DIRECTIONS.items()
    ]
    table = pd.DataFrame(rows, columns=[*_KEYS, "published"]).merge(estimates, how="left", on=_KEYS)
    return table.fillna({"lives": 0, "windows": 0, "events": 0}).astype({"lives": int, "windows": int})
