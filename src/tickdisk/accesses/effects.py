"""Which user interaction causes accesses to which data: windows with that interaction alone against quiet windows."""

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


def effects(lives: Sequence[Life], alpha: float = 0.05) -> pd.DataFrame:
    """Returns interaction, data, op (read, write), per_event, low, high, p, p_adjusted, lives, windows, events.

    Windows end with saves, so that what is written later is in the window of its cause. per_event: requests in windows with this
    interaction alone beyond those of quiet windows at that time, over the number of interactions; a life gives one value, the
    interval is Student's over lives. p: one-sided, that there are none; adjusted by Benjamini and Hochberg (1995) over the whole
    table. UNLOAD stands for a position change or leave whose effect comes when the place that was left is unloaded: nothing else
    causes those accesses, and they are left out of all other windows. What had no window of its own in any life is not there.
    """
    rows = [row for life in lives for row in _of_life(life)]
    found = pd.DataFrame(rows, columns=[*_KEYS, "per_event", "windows", "events"])
    table = []
    for key, own in found.groupby(_KEYS, sort=False):
        mean = over_lives(own["per_event"], alpha)
        size = (int(own["windows"].sum()), float(own["events"].sum()))
        table.append((*key, mean.value, mean.low, mean.high, mean.p_above, mean.n, *size))
    columns = [*_KEYS, "per_event", "low", "high", "p", "lives", "windows", "events"]
    result = pd.DataFrame(table, columns=columns).astype({"p": float})
    return result.assign(p_adjusted=adjusted(result["p"], "scan"))


def _of_life(life: Life) -> Iterator[tuple[str, str, str, float, int, float]]:
    """Yields interaction, data, op, excess of requests per event, windows and events of one life."""
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
    """What each window would hold were it quiet: between stretches of quiet windows the rate goes from one's mean to the next's.

    What the server does by itself changes through a life, so that quiet windows far away are no standard.
    """
    stretch = np.cumsum(np.diff(quiet, prepend=False) & quiet)[quiet]
    middle_ns = np.cumsum(length_ns) - length_ns / 2
    size = np.bincount(stretch, length_ns[quiet])[1:]
    centre_ns = np.bincount(stretch, (middle_ns * length_ns)[quiet])[1:] / size
    return np.interp(middle_ns, centre_ns, np.bincount(stretch, of[quiet])[1:] / size) * length_ns


def compare(found: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Returns interaction, data, op, published (bool) and the columns of `effects`.

    A row for each published interaction, data type and direction, and UNLOAD; NaN, and 0 lives, for what was not acted out or
    had no window of its own.
    """
    causes = [(row.interaction, row.data, row.directions) for row in published.interactions] + [(UNLOAD, [], [])]
    rows = [
        (interaction, data, op, data in of and letter in directions)
        for interaction, of, directions in causes
        for data in get_args(Data)
        for op, letter in DIRECTIONS.items()
    ]
    table = pd.DataFrame(rows, columns=[*_KEYS, "published"]).merge(found, how="left", on=_KEYS)
    return table.fillna({"lives": 0, "windows": 0, "events": 0}).astype({"lives": int, "windows": int})
