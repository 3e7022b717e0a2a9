"""Finds the saves of a server in its accesses, and describes their writes and which data wait for a save."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.foundation.errors import TickdiskError

_SAVED_LAST = "env_meta.txt"
"""File that Luanti writes last in every save, even if nothing changed. A save writes map, players and environment in turn."""
_UNLOAD_CHECK_S, _ACTIVE_CHECK_S = 2.92, 2.0
"""Periods in which Luanti looks for blocks to unload, and for blocks that players have left."""
_SAME_SAVE_NS = 200_000_000
"""Largest time between two writes of `_SAVED_LAST` that belong to one save."""
_MAP_JOURNAL, _HEADER_BYTES = "map.sqlite-journal", 512
"""Name of the map's journal, and the least size of its header.

SQLite begins a journal, and with it a transaction, with a header of at least a sector at offset 0 (sqlite.org, fileformat).
"""


def saves(accesses: pd.DataFrame, steps_ns: Sequence[int] | NDArray[np.int64]) -> pd.DataFrame:
    """Finds the saves of a server life, in each of which Luanti writes all data that have changed.

    A save lasts from the start of its step to the end of its last write. If terrain was unloaded in the same step, the save
    begins with the last transaction on the map. The save at the end of the server, which another thread makes, does not count.
    `steps_ns` has the starts of the server's steps in ascending order.

    Returns one row per save, in order of time, with start_ns, end_ns and thread. Raises TickdiskError if there are fewer than two
    saves, because then no window lies between them.
    """
    last = accesses[(accesses["store"] == _SAVED_LAST) & (accesses["op"] == "write")]
    number = (last["at_ns"].diff() > _SAME_SAVE_NS).cumsum()
    table = last.groupby(number).agg(end_ns=("end_ns", "max"), thread=("thread", "last")).reset_index(drop=True)
    table = table[table["thread"].isin(table["thread"].mode()[:1])].reset_index(drop=True)
    if len(table) < 2:  # noqa: PLR2004 - a period has two ends
        raise TickdiskError(
            f"the capture shows {len(table)} saves of the server (writes of {_SAVED_LAST}); capture at least two save periods"
        )
    steps = np.asarray(steps_ns, dtype="int64")
    step = np.searchsorted(steps, table["end_ns"].to_numpy(), side="right") - 1
    start_ns = np.where(step >= 0, steps[step.clip(min=0)], table["end_ns"])
    saved = pd.DataFrame({"start_ns": start_ns, "end_ns": table["end_ns"], "thread": table["thread"]})
    begun = accesses[accesses["file"].str.endswith(_MAP_JOURNAL) & (accesses["op"] == "write") & (accesses["offset"] == 0)]
    begun = begun[begun["asked_bytes"] >= _HEADER_BYTES]
    transactions = begun["at_ns"].groupby(save_of(begun, saved)).agg(["size", "max"])
    again = transactions.loc[transactions["size"] > 1, "max"]
    saved.loc[again.index.to_numpy(dtype="int64"), "start_ns"] = again.to_numpy(dtype="int64")
    return saved


def save_of(accesses: pd.DataFrame, saves: pd.DataFrame) -> pd.Series:
    """Returns for each access the row number in `saves` (`Int64`) of the save that it is part of, or null if it is part of none.

    An access is part of a save if it begins during the save and is made by the thread that saves.
    """
    which = np.searchsorted(saves["start_ns"].to_numpy(), accesses["at_ns"].to_numpy(), side="right") - 1
    nearest = saves.iloc[which.clip(min=0)]
    late = accesses["at_ns"].to_numpy() >= nearest["end_ns"].to_numpy()
    by_another = accesses["thread"].to_numpy() != nearest["thread"].to_numpy()
    return pd.Series(which, index=accesses.index, dtype="Int64").mask((which < 0) | late | by_another)


def delayed(accesses: pd.DataFrame, saves: pd.DataFrame) -> pd.DataFrame:
    """Computes the share of written data that was written in saves, by data type. The rest was written at once.

    The columns are data, requests and bytes (written in all), and share_saved_requests and share_saved_bytes.
    """
    written = accesses[accesses["op"] == "write"]
    table = written.groupby("data")["bytes"].agg(requests="size", bytes="sum")
    saved = written[save_of(written, saves).notna()].groupby("data")["bytes"].agg(requests="size", bytes="sum")
    shares = (saved.reindex(table.index, fill_value=0) / table.clip(lower=1)).add_prefix("share_saved_")
    return pd.concat([table, shares], axis=1).reset_index()


def flushes(accesses: pd.DataFrame, saves: pd.DataFrame) -> pd.DataFrame:
    """Describes each save by the number, the bytes and the times of its writes and syncs.

    The columns are save (its number), requests (writes and syncs), bytes, syncs, first_ns (start of the first of these requests),
    last_ns (end of the last), start_ns (start of the save) and seconds (from first_ns to last_ns). A save that wrote only the
    environment has a row, too.
    """
    part = accesses[accesses["op"] != "read"]
    part = part.assign(save=save_of(part, saves), sync=part["op"] == "sync").dropna(subset=["save"])
    table = part.groupby("save").agg(
        requests=("op", "size"),
        bytes=("bytes", "sum"),
        syncs=("sync", "sum"),
        first_ns=("at_ns", "min"),
        last_ns=("end_ns", "max"),
    )
    start_ns = saves["start_ns"].to_numpy()[table.index.to_numpy(dtype="int64")]
    return table.assign(start_ns=start_ns, seconds=(table["last_ns"] - table["first_ns"]) / 1e9).reset_index()


def cumulative(accesses: pd.DataFrame, start_ns: int) -> pd.DataFrame:
    """Computes for a figure how the bytes that were read and written grow over time, by data type and direction.

    There is one row per read and write of `accesses`, which are in order of time, with data, op, at_s (since `start_ns`) and
    bytes, which is the sum for this data type and direction up to and including this access.
    """
    moved = accesses[accesses["op"] != "sync"]
    so_far = moved.groupby(["data", "op"])["bytes"].cumsum()
    return moved[["data", "op"]].assign(at_s=(moved["at_ns"] - start_ns) / 1e9, bytes=so_far)


def unload_after_s(timeout_s: float) -> tuple[float, float]:
    """Returns how many seconds after the last player has left a place Luanti unloads its map blocks, as the earliest and latest
    time.

    Luanti writes a changed block before it unloads the block. Every 2.92 s it adds 2.92 s to the age of each block that is not in
    use, and unloads the blocks whose age exceeds `timeout_s`, the setting server_unload_unused_data_timeout. Up to 2 s pass until
    a block that players have left counts as not in use (ServerEnvironment, active blocks).

    Examples
    --------
    >>> [round(after_s, 2) for after_s in unload_after_s(29.0)]
    [26.28, 31.2]
    """
    checks = np.floor(timeout_s / _UNLOAD_CHECK_S) + 1
    return float((checks - 1) * _UNLOAD_CHECK_S), float(checks * _UNLOAD_CHECK_S + _ACTIVE_CHECK_S)
