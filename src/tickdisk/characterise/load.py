"""The load that a trace puts on storage: its reads and writes as arrays, and the number of everything else."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.foundation.errors import TickdiskError

OPS = ("read", "write")
_SYNCS = ("sync", "flush")
_WORDS = {
    "at_ns": "times of reads and writes",
    "latency_ns": "latencies of reads and writes",
    "op": "which requests read and which write",
    "offset": "offsets of reads and writes",
    "place": "names of files or volumes of reads and writes",
    "data": "types of data of reads and writes",
    "bytes": "sizes of reads and writes",
    "storing": "how reads and writes ask to be stored",
}
_PLACES = {"syscall": "file", "block": "volume"}


@dataclass(frozen=True)
class Load:
    """The load that a trace puts on storage."""

    name: str
    level: str
    """Layer of the requests: `syscall` or `block`."""
    moves: pd.DataFrame
    """One row per read and write that did not fail, in order of time.

    The columns are at_ns (start, counted from the first), latency_ns, op (`read` or `write`), bytes (moved), offset, place (file
    or volume), data (type of data) and storing (how the request asks to be stored). Numbers are float64, and NaN or null if the
    trace does not have them. If the trace does not tell what any of its requests does, there is a row for each, and op is null.
    """
    syncs: pd.DataFrame
    """One row per request that waits until what was written is stored, in order of time, with at_ns and latency_ns as in `moves`,
    and call (such as `fsync`; a flush of a block device is `flush`).
    """
    operations: Mapping[str, int]
    """Number of requests of each operation in the trace, with those that are not in `moves`."""
    failed: int
    """Number of reads and writes that failed."""

    def having(self, *columns: str) -> pd.DataFrame:
        """Returns the rows of `moves` that have values in these columns. Raises TickdiskError if there is no such row."""
        rows = self.moves
        for column in columns:
            rows = rows[rows[column].notna()]
            if rows.empty:
                raise TickdiskError(f"not in the trace: {_WORDS[column]}")
        return rows

    @property
    def place_word(self) -> str:
        """The word for the place of a request: `file` or `volume`."""
        return _PLACES[self.level]

    @property
    def seconds(self) -> float:
        """Time in s from the start of the first read or write to the start of the last. NaN if the trace has no times."""
        return float(self.moves["at_ns"].max() - self.moves["at_ns"].min()) / 1e9 if len(self.moves) else np.nan


def load_of(requests: pd.DataFrame, name: str) -> Load:
    """Finds the reads and writes in a table of requests, as `formats.read` or `table.read` returns it.

    A system call moves the bytes that it returned, and a request to a block device its length. A request whose length is not in
    the trace is left out of sizes. A request without a file that has a volume is in the place of its volume. Raises TickdiskError
    if the requests are of two layers, or none of them reads or writes.
    """
    levels = requests["level"].unique().tolist()
    if len(levels) > 1:
        raise TickdiskError(f"{name} mixes system calls with requests to a block device; inspect the two apart")
    moving = requests["op"].isin(OPS)
    moving = moving if moving.any() else requests["op"].isna()
    failed = moving & requests["errno"].fillna(0).ne(0)
    succeeded = requests[moving & ~failed]
    if succeeded.empty:
        raise TickdiskError(f"{name} has no read and no write among its {len(requests)} requests; give a trace that has some")
    numbers = {column: _floats(succeeded[column]) for column in ("latency_ns", "offset", "result", "length")}
    # The difference is taken of whole numbers, because a float does not hold every ns since 1970.
    first_ns = succeeded["start_ns"].astype("Int64").min()
    at_ns = _since(succeeded["start_ns"], first_ns)
    moved = np.where(np.isfinite(numbers["result"]), numbers["result"], numbers["length"])
    # Nothing moves fewer bytes than none, so the trace does not tell such a size.
    moved = np.where(moved < 0, np.nan, moved)
    place = (
        succeeded["file"].fillna(succeeded["volume"]) if levels == ["syscall"] else succeeded["volume"].fillna(succeeded["file"])
    )
    codes = succeeded["op"].map({op: code for code, op in enumerate(OPS)}).fillna(-1).astype("int64")
    moves = pd.DataFrame(
        {
            "at_ns": at_ns,
            "latency_ns": numbers["latency_ns"],
            "op": pd.Categorical.from_codes(codes, categories=pd.Index(OPS)),
            "bytes": moved,
            "offset": numbers["offset"],
            "place": pd.Categorical(place),
            "data": pd.Categorical(succeeded["data"]),
            "storing": pd.Categorical(succeeded["storing"] if "storing" in succeeded else [None] * len(succeeded)),
        }
    )
    ordered = moves.sort_values("at_ns", kind="stable", ignore_index=True)
    counts = requests["op"].fillna("not known").value_counts()
    waiting = requests[requests["op"].isin(_SYNCS)]
    syncs = pd.DataFrame(
        {
            "at_ns": _since(waiting["start_ns"], first_ns),
            "latency_ns": _floats(waiting["latency_ns"]),
            "call": np.where(waiting["call"].notna(), waiting["call"], waiting["op"]),
        }
    ).sort_values("at_ns", kind="stable", ignore_index=True)
    return Load(name, levels[0], ordered, syncs, {str(op): int(count) for op, count in counts.items()}, int(failed.sum()))


def _since(start_ns: pd.Series, first_ns: int) -> np.ndarray:
    starts = start_ns.astype("Int64")
    return _floats(starts - first_ns if starts.notna().any() else starts)


def _floats(values: pd.Series) -> np.ndarray:
    """Returns numbers that may be null as float64, with NaN for null."""
    return values.to_numpy(dtype="float64", na_value=np.nan)
