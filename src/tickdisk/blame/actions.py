"""Slow actions: how much of the time of each the tick thread or the readers of the map waited for storage, and for what."""

import numpy as np
import pandas as pd

from tickdisk.blame.attribute import Blame
from tickdisk.blame.lanes import Cover
from tickdisk.blame.links import describe_waits
from tickdisk.errors import TickdiskError

READERS = "Emerge"
"""How the names of Luanti's threads begin that read the map."""
SLOW_ACTION = 2.0
"""An action that takes so many times its kind's median is slow, if that is longer than a tick."""
_ASKED = ("thread_name", "call", "op", "file", "offset", "length", "data")
_SERVED = ("device_op", "device_file", "device_offset", "device_ns")
WAIT = (*_ASKED, *_SERVED)
"""What is said of the wait that kept a slow action longest."""


def blame_actions(blame: Blame, readers: str = READERS) -> pd.DataFrame:
    """Returns one row a completed action that was issued and completed while ticks were captured.

    player, action, issued_ns, completed_ns, latency_ns (issued to completed), slow, tick_storage_ns (the tick thread's, locks
    followed), reader_storage_ns (some thread whose name begins with `readers` waited for I/O), storage_ns (either), tick: of
    those under way the one with the longest gap, whose chain explains it. Of slow ones also the wait for storage of these threads
    that lasted longest meanwhile: wait_ns (of it, within the action; 0 for none) and WAIT, as in `links.describe`.
    TickdiskError when there is no actions table.
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
    found = found.reset_index(drop=True)
    return found.join(_longest_waits(blame, read, found))


def _longest_waits(blame: Blame, read: pd.DataFrame, actions: pd.DataFrame) -> pd.DataFrame:
    """One row an action: wait_ns and WAIT; 0 and NA for one that is not slow, or in which nobody waited."""
    columns = [*WAIT, "start_ns", "end_ns"]
    own = blame.links.loc[blame.links["kind"] == "io", columns]
    waits = pd.concat([own.astype(object), describe_waits(read, blame.evidence)[columns].astype(object)], ignore_index=True)
    start_ns, end_ns = (waits[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    wait_ns = np.zeros(len(actions), dtype=np.int64)
    row = np.full(len(actions), len(waits))
    issued_ns, completed_ns = (actions[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
    for number in np.flatnonzero(actions["slow"]) if len(waits) else ():
        together_ns = np.minimum(end_ns, completed_ns[number]) - np.maximum(start_ns, issued_ns[number])
        longest = int(together_ns.argmax())
        if together_ns[longest] > 0:
            row[number], wait_ns[number] = longest, together_ns[longest]
    said = waits[list(WAIT)].reindex(row).set_axis(actions.index)
    return said.assign(wait_ns=wait_ns)
