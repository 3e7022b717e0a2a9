"""When what players changed reaches storage: saves, what is written at once and what waits, how fast a flush goes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.errors import TickdiskError

_SAVED_LAST = "env_meta.txt"
"""Luanti ends every save with this file, whether or not anything else was changed (map, players, environment, in this order)."""
_UNLOAD_CHECK_S, _ACTIVE_CHECK_S = 2.92, 2.0
"""How often Luanti looks for blocks to unload, and for blocks that players have left."""
_SAME_SAVE_NS = 200_000_000
"""Writes of that file that are closer than this are of one save."""
_MAP_JOURNAL, _HEADER_BYTES = "map.sqlite-journal", 512
"""SQLite begins a journal, and with it a transaction, with a header of at least a sector at offset 0 (sqlite.org, fileformat)."""


def saves(accesses: pd.DataFrame, steps_ns: Sequence[int] | NDArray[np.int64]) -> pd.DataFrame:
    """Returns start_ns, end_ns and thread of every save, in order: from the begin of its step to the end of its last write.

    `steps_ns`: begins of the server's steps. Where terrain has been unloaded in the same step, the save begins with the last
    transaction on the map. The save as the server ends, in another thread, is none of them. TickdiskError when there are fewer
    than two: nothing lies between them.
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
    found = pd.DataFrame({"start_ns": start_ns, "end_ns": table["end_ns"], "thread": table["thread"]})
    begun = accesses[accesses["file"].str.endswith(_MAP_JOURNAL) & (accesses["op"] == "write") & (accesses["offset"] == 0)]
    begun = begun[begun["asked_bytes"] >= _HEADER_BYTES]
    transactions = begun["at_ns"].groupby(save_of(begun, found)).agg(["size", "max"])
    again = transactions.loc[transactions["size"] > 1, "max"]
    found.loc[again.index.to_numpy(dtype="int64"), "start_ns"] = again.to_numpy(dtype="int64")
    return found


def save_of(accesses: pd.DataFrame, saves: pd.DataFrame) -> pd.Series:
    """Returns the number of the save that each access is part of (`Int64`): in its step and thread; null outside saves."""
    which = np.searchsorted(saves["start_ns"].to_numpy(), accesses["at_ns"].to_numpy(), side="right") - 1
    own = saves.iloc[which.clip(min=0)]
    late = accesses["at_ns"].to_numpy() >= own["end_ns"].to_numpy()
    other = accesses["thread"].to_numpy() != own["thread"].to_numpy()
    return pd.Series(which, index=accesses.index, dtype="Int64").mask((which < 0) | late | other)


def delayed(accesses: pd.DataFrame, saves: pd.DataFrame) -> pd.DataFrame:
    """Returns one row a data type: requests and bytes that were written, and the share of each that was written in saves."""
    written = accesses[accesses["op"] == "write"]
    table = written.groupby("data")["bytes"].agg(requests="size", bytes="sum")
    saved = written[save_of(written, saves).notna()].groupby("data")["bytes"].agg(requests="size", bytes="sum")
    shares = (saved.reindex(table.index, fill_value=0) / table.clip(lower=1)).add_prefix("share_saved_")
    return pd.concat([table, shares], axis=1).reset_index()


def flushes(accesses: pd.DataFrame, saves: pd.DataFrame) -> pd.DataFrame:
    """Returns one row a save: save, start_ns, requests (writes and syncs), bytes, syncs, seconds from first to last of them.

    A save that wrote nothing but the environment is there, too.
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
    """Returns data, op, at_s (since `start_ns`) and bytes so far, a row for each read and write, in order of time."""
    moved = accesses[accesses["op"] != "sync"]
    so_far = moved.groupby(["data", "op"])["bytes"].cumsum()
    return moved[["data", "op"]].assign(at_s=(moved["at_ns"] - start_ns) / 1e9, bytes=so_far)


def unload_after_s(timeout_s: float) -> tuple[float, float]:
    """Returns between which times after everybody has left a place Luanti unloads, and first writes, its map blocks.

    Every 2.92 s a block that is not in use ages by as much, and goes when that exceeds server_unload_unused_data_timeout; up to
    2 s pass until a block that players have left counts as not in use (ServerEnvironment, active blocks).
    """
    checks = np.floor(timeout_s / _UNLOAD_CHECK_S) + 1
    return float((checks - 1) * _UNLOAD_CHECK_S), float(checks * _UNLOAD_CHECK_S + _ACTIVE_CHECK_S)
