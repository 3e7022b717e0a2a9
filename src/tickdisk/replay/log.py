"""The result of a replay, with one row per request that has its due time and its real times, and the file that holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole

SCHEMA_VERSION = 1
_WORDS, _NULLABLE = ("thread_name", "op", "call", "file"), ("captured_ns", "lag_ns", "lost_ns")
COLUMNS = (
    *("seq", "thread", "thread_name", "op", "call", "file", "offset", "length"),
    *("due_ns", "issued_ns", "completed_ns", "result", "expected", "captured_ns", "lag_ns", "lost_ns"),
)
"""Columns of the table of a replay.

Times are in ns of CLOCK_MONOTONIC. `expected` is the captured result: the bytes of a read or write, 0 for another call, or the
negative errno. `captured_ns` is the captured latency, and null if the trace does not have it. `lag_ns` and `lost_ns` are as in
`lateness`, and null where they are not known.
"""
_SCHEMA = pa.schema(
    [pa.field(name, pa.string() if name in _WORDS else pa.int64(), nullable=name in _NULLABLE) for name in COLUMNS],
    metadata={"schema_version": str(SCHEMA_VERSION), "table": "replay"},
)


@dataclass(frozen=True)
class ReplayResult:
    """The times of the requests of a replay, and how the replay was made."""

    timings: pd.DataFrame
    """One row per request, in the order of due times, with the columns COLUMNS."""
    is_real_time: bool
    """Whether the streams had real-time priority."""
    is_memory_locked: bool = False
    """Whether the memory of the process was locked, so that no page of it could be swapped out."""
    is_simulated: bool = False
    """Whether a model computed the times, without a device. They then count from 0."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of requests of the plan that the tool did not make or did not time, by reason."""


def write_timings(path: Path, timings: pd.DataFrame) -> None:
    """Writes the table of a replay, with the columns of `ReplayResult.timings`, as a file that appears only when it is whole."""
    with whole(path) as partial:
        pq.write_table(
            pa.Table.from_pandas(timings[list(COLUMNS)], schema=_SCHEMA, preserve_index=False), partial, compression="zstd"
        )


def read_timings(path: Path) -> pd.DataFrame:
    """Reads the table that `write_timings` wrote. Raises TickdiskError if the file is missing or has other columns."""
    try:
        arrow = pq.read_table(path)
    except (FileNotFoundError, pa.ArrowInvalid) as error:
        raise TickdiskError(f"{path} is missing or is not a Parquet file; run the replay again") from error
    if arrow.schema.metadata is None or arrow.schema.metadata.get(b"table") != b"replay":
        raise TickdiskError(f"{path} holds no replay; give a file that `tickdisk replay` wrote")
    frame: pd.DataFrame = arrow.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame.astype({name: "int64" for name in COLUMNS if name not in _WORDS + _NULLABLE})
