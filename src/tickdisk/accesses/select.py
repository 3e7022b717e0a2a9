"""Selects the storage accesses from a table of requests, with the database and the data type that each belongs to."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tickdisk.foundation.errors import TickdiskError

OPS = ("read", "write", "sync")
_BESIDE = r"(-journal|-wal|-shm|\.~mt)$"
"""Suffixes that SQLite and Luanti append to the name of a file for the files that they write beside it."""
_COLUMNS = ["at_ns", "end_ns", "thread", "file", "store", "data", "op", "offset", "asked_bytes", "bytes"]
Granularity = Literal["requests", "bytes"]


@dataclass(frozen=True)
class Accesses:
    """The storage accesses that `select` finds in a table of requests, which are reads, writes and syncs of the world's files."""

    table: pd.DataFrame
    """One row per access, in order of time.

    The columns are at_ns and end_ns (its start and end), thread, file (path), store (name of the file, or of the database that a
    journal belongs to), data (data type), op (read, write or sync), offset (`Int64`, null if unknown), asked_bytes, and bytes
    (moved). A sync has 0 bytes.
    """
    left_out: dict[str, int]
    """Number of requests that are no accesses, by reason."""


def select(requests: pd.DataFrame) -> Accesses:
    """Selects the successful reads, writes and syncs of the world's files from the system calls in the requests of a capture.

    The data type of a request is that of the capture, which depends on the path. Terrain is Luanti's map.sqlite, and player is
    its players.sqlite and auth.sqlite, each with its journal. NPCs are stored inside the map's blocks, so that their accesses are
    accesses to terrain, and the data type `npc` does not occur. The world is the folder of the terrain's files. Raises
    TickdiskError if no request is an access to terrain.
    """
    terrain = requests.loc[requests["data"] == "terrain", "file"].dropna()
    if terrain.empty:
        raise TickdiskError("the capture holds no access to terrain; capture a server whose players move")
    world = terrain.str.rsplit("/", n=1).str[0].mode()[0]
    inside = (requests["file"] == world) | requests["file"].str.startswith(f"{world}/").fillna(value=False)
    reasons = [
        ("not a system call", requests["level"] != "syscall"),
        ("file unknown", requests["file"].isna()),
        ("file outside the world", ~inside),
        ("failed", requests["errno"] != 0),
        ("op " + requests["op"], ~requests["op"].isin(OPS)),
    ]
    words, conditions = zip(*reasons, strict=True)
    reason = pd.Series(np.select(conditions, words, default=""), index=requests.index)
    accesses = requests[reason == ""].sort_values(["start_ns", "seq"], kind="stable", ignore_index=True)
    sync = accesses["op"] == "sync"
    table = accesses.assign(
        at_ns=accesses["start_ns"],
        end_ns=accesses["start_ns"] + accesses["latency_ns"],
        store=accesses["file"].str.rsplit("/", n=1).str[-1].str.replace(_BESIDE, "", regex=True),
        asked_bytes=accesses["length"].fillna(accesses["result"]).astype("int64").mask(sync, 0),
        bytes=accesses["result"].mask(sync, 0),
    )
    return Accesses(table[_COLUMNS], {str(name): int(count) for name, count in reason[reason != ""].value_counts().items()})
