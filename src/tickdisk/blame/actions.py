"""Explains slow actions by the time in which the tick thread, or the threads that read the map, waited for storage."""

import numpy as np
import pandas as pd

from tickdisk.blame.attribute import Blame
from tickdisk.blame.lanes import Intervals
from tickdisk.blame.links import describe_waits
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TimeKind

SLOW_ACTION = 2.0
"""Factor. An action is slow if it takes more than this times the median of its kind, and more than the budget of a tick."""
_ASKED = ("thread_name", "call", "request", "op", "file", "offset", "length", "data", "storing")
_SERVED = ("device", "device_op", "device_file", "device_offset", "device_ns")
WAIT = (*_ASKED, *_SERVED)
"""Columns that describe the longest wait for storage within a slow action."""


def blame_actions(blame: Blame) -> pd.DataFrame:
    """Explains slow actions of players by the times in which threads of the server waited for storage during them.

    All actions that were issued and completed while ticks were captured have a row. An action is slow if it takes more than twice
    the median of its kind, and more than the budget of a tick. A reader is a thread that reads the world for players. Raises
    TickdiskError if the evidence has no actions.

    The columns are player, action, issued_ns, completed_ns, latency_ns (from issued to completed), slow, tick_storage_ns (time in
    which the tick thread waited for storage, itself or behind locks), reader_storage_ns (time in which at least one reader waited
    for storage), storage_ns (time in which any of them did), and tick (the tick with the longest gap during the action, whose
    chain explains it). For slow actions, wait_ns is the part within the action of the longest wait for storage of these threads,
    and the columns `WAIT` describe this wait as in `Blame.links`. Without such a wait, wait_ns is 0 and they are NA.
    """
    if blame.evidence.actions is None:
        raise TickdiskError(f"{blame.evidence.name} has no actions; only a server life has them")
    waits, ticks, readers = blame.evidence.waits, blame.ticks, blame.evidence.readers
    read = waits[(waits["kind"] == TimeKind.IO) & (False if readers is None else waits["thread_name"].str.startswith(readers))]
    reading = Intervals.of_rows(read)
    either = Intervals.of(
        *(np.concatenate([getattr(blame.storage, end), getattr(reading, end)]) for end in ("start_ns", "end_ns"))
    )
    starts = ticks["start_ns"].to_numpy()
    ends = starts + ticks["gap_ns"].to_numpy()
    done = blame.evidence.actions.dropna(subset=["issued_ns", "completed_ns"])
    done = done[(done["issued_ns"] >= starts[0]) & (done["completed_ns"] <= ends[-1]) & (done["outcome"] == "completed")]
    issued, completed = (done[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
    first, last = np.searchsorted(ends, issued, side="right"), np.searchsorted(starts, completed)
    longest = [
        low + int(ticks["gap_ns"].iloc[low:high].argmax()) for low, high in zip(first, np.maximum(last, first + 1), strict=True)
    ]
    explained: pd.DataFrame = done[["player", "action"]].assign(
        issued_ns=issued,
        completed_ns=completed,
        latency_ns=completed - issued,
        tick_storage_ns=blame.storage.within(issued, completed),
        reader_storage_ns=reading.within(issued, completed),
        storage_ns=either.within(issued, completed),
        tick=ticks["tick"].to_numpy()[longest],
    )
    usual = explained.groupby("action")["latency_ns"].transform("median")
    explained.insert(5, "slow", explained["latency_ns"] > (SLOW_ACTION * usual).clip(lower=blame.budget_ns or 0))
    explained = explained.reset_index(drop=True)
    return explained.join(_longest_waits(blame, read, explained))


def _longest_waits(blame: Blame, read: pd.DataFrame, actions: pd.DataFrame) -> pd.DataFrame:
    """Returns wait_ns and the columns WAIT for each action. They are 0 and NA if it is not slow or has no wait for storage."""
    columns = [*WAIT, "start_ns", "end_ns"]
    links = blame.links.loc[blame.links["kind"] == TimeKind.IO, columns]
    waits = pd.concat([links.astype(object), describe_waits(read, blame.evidence)[columns].astype(object)], ignore_index=True)
    start_ns, end_ns = (waits[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    wait_ns = np.zeros(len(actions), dtype=np.int64)
    row = np.full(len(actions), len(waits))
    issued_ns, completed_ns = (actions[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
    for number in np.flatnonzero(actions["slow"]) if len(waits) else ():
        together_ns = np.minimum(end_ns, completed_ns[number]) - np.maximum(start_ns, issued_ns[number])
        longest = int(together_ns.argmax())
        if together_ns[longest] > 0:
            row[number], wait_ns[number] = longest, together_ns[longest]
    described = waits[list(WAIT)].reindex(row).set_axis(actions.index)
    return described.assign(wait_ns=wait_ns)
