"""The storage accesses in a table of requests: which count, to which database and data type each belongs."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tickdisk.errors import TickdiskError

OPS = ("read", "write", "sync")
_BESIDE = r"(-journal|-wal|-shm|\.~mt)$"
"""What SQLite and Luanti append to the name of a file for the one that they write beside it."""
_COLUMNS = ["at_ns", "end_ns", "thread", "file", "store", "data", "op", "offset", "asked_bytes", "bytes"]
Granularity = Literal["requests", "bytes"]


@dataclass(frozen=True)
class Accesses:
    """Storage accesses and, by reason, how many rows of the requests table are none."""

    table: pd.DataFrame
    """at_ns, end_ns, thread, file, store (the file, or the database that a journal belongs to), data, op (read, write, sync),
    offset (Int64, null where unknown), asked_bytes, bytes (moved); in order of time."""
    left_out: dict[str, int]


def select(requests: pd.DataFrame) -> Accesses:
    """Returns the successful reads, writes and syncs of the world's files among the system calls in a requests table.

    Data types are those of the capture, by path: terrain is Luanti's map.sqlite, player its players.sqlite and auth.sqlite, each
    with its journal. NPCs are stored inside the map's blocks: their accesses are accesses to terrain, and there is no `npc`. The
    world is the folder of the terrain's files. TickdiskError when there is no access to terrain.
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
    chosen = requests[reason == ""].sort_values(["start_ns", "seq"], kind="stable", ignore_index=True)
    sync = chosen["op"] == "sync"
    table = chosen.assign(
        at_ns=chosen["start_ns"],
        end_ns=chosen["start_ns"] + chosen["latency_ns"],
        store=chosen["file"].str.rsplit("/", n=1).str[-1].str.replace(_BESIDE, "", regex=True),
        asked_bytes=chosen["length"].fillna(chosen["result"]).astype("int64").mask(sync, 0),
        bytes=chosen["result"].mask(sync, 0),
    )
    return Accesses(table[_COLUMNS], {str(name): int(count) for name, count in reason[reason != ""].value_counts().items()})
