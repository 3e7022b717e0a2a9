"""Slow actions: how much of the time of each the tick thread or the threads that read the map waited for storage."""

import numpy as np
import pandas as pd

from tickdisk.blame.attribute import Blame
from tickdisk.blame.lanes import Cover
from tickdisk.errors import TickdiskError

READERS = "Emerge"
"""How the names of Luanti's threads begin that read the map."""
SLOW_ACTION = 2.0
"""An action that takes so many times its kind's median is slow, if that is longer than a tick."""


def blame_actions(blame: Blame, readers: str = READERS) -> pd.DataFrame:
    """Returns one row a completed action that was issued and completed while ticks were captured.

    player, action, issued_ns, completed_ns, latency_ns (issued to completed), slow, tick_storage_ns (the tick thread's, locks
    followed), reader_storage_ns (some thread whose name begins with `readers` waited for I/O), storage_ns (either), tick: of
    those under way the one with the longest gap, whose chain explains it. TickdiskError when there is no actions table.
    """
    if blame.evidence.actions is None:
        raise TickdiskError(f"{blame.evidence.name} has no actions; only a server's life has them")
    waits, ticks = blame.evidence.waits, blame.ticks
    read = waits[(waits["kind"] == "io") & waits["thread_name"].str.startswith(readers)]
    reading = Cover.of(read["start_ns"].to_numpy(np.int64), read["end_ns"].to_numpy(np.int64))
    either = Cover.of(*(np.concatenate([getattr(blame.storage, end), getattr(reading, end)]) for end in ("start_ns", "end_ns")))
    starts = ticks["start_ns"].to_numpy()
    ends = starts + ticks["gap_ns"].to_numpy()
    done = blame.evidence.actions.dropna(subset=["issued_ns", "completed_ns"])
    done = done[(done["issued_ns"] >= starts[0]) & (done["completed_ns"] <= ends[-1]) & (done["outcome"] == "completed")]
    issued, completed = (done[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
    first, last = np.searchsorted(ends, issued, side="right"), np.searchsorted(starts, completed)
    longest = [
        low + int(ticks["gap_ns"].iloc[low:high].argmax()) for low, high in zip(first, np.maximum(last, first + 1), strict=True)
    ]
    found: pd.DataFrame = done[["player", "action"]].assign(
        issued_ns=issued,
        completed_ns=completed,
        latency_ns=completed - issued,
        tick_storage_ns=blame.storage.within(issued, completed),
        reader_storage_ns=reading.within(issued, completed),
        storage_ns=either.within(issued, completed),
        tick=ticks["tick"].to_numpy()[longest],
    )
    usual = found.groupby("action")["latency_ns"].transform("median")
    found.insert(5, "slow", found["latency_ns"] > (SLOW_ACTION * usual).clip(lower=blame.budget_ns or 0))
    return found.reset_index(drop=True)
