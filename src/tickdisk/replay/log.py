"""What a replay leaves: one row a request, with the times that were due and the times that were."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk.errors import TickdiskError
from tickdisk.files import whole

SCHEMA_VERSION = 1
_WORDS, _NULLABLE = ("thread_name", "op", "call", "file"), ("lag_ns", "lost_ns")
COLUMNS = (
    *("seq", "thread", "thread_name", "op", "call", "file", "offset", "length"),
    *("due_ns", "issued_ns", "completed_ns", "result", "expected", "captured_ns", "lag_ns", "lost_ns"),
)
"""Times are CLOCK_MONOTONIC ns; `expected` is the captured result (0 but for reads and writes, or the negative errno) and
`captured_ns` the captured latency; lag and lost are as in `lateness`, null where they are not known."""
_SCHEMA = pa.schema(
    [pa.field(name, pa.string() if name in _WORDS else pa.int64(), nullable=name in _NULLABLE) for name in COLUMNS],
    metadata={"schema_version": str(SCHEMA_VERSION), "table": "replay"},
)


@dataclass(frozen=True)
class Replayed:
    """A replay that has been made."""

    timings: pd.DataFrame
    """As in COLUMNS, in the order of due times."""
    is_real_time: bool
    """Whether the streams had real-time priority."""
    is_memory_locked: bool = False
    is_simulated: bool = False
    """Whether times were computed by a model, without a device; they are from 0 on then."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Requests of the plan that the tool did not make, or did not time, by reason."""


def write_timings(path: Path, timings: pd.DataFrame) -> None:
    """Writes a replay's table as Parquet, whole or not at all."""
    with whole(path) as partial:
        pq.write_table(
            pa.Table.from_pandas(timings[list(COLUMNS)], schema=_SCHEMA, preserve_index=False), partial, compression="zstd"
        )


def read_timings(path: Path) -> pd.DataFrame:
    """Returns a replay's table; TickdiskError when the file is missing or another one."""
    try:
        arrow = pq.read_table(path)
    except (FileNotFoundError, pa.ArrowInvalid) as error:
        raise TickdiskError(f"{path} is not there, or no Parquet file; run the replay again") from error
    if arrow.schema.metadata is None or arrow.schema.metadata.get(b"table") != b"replay":
        raise TickdiskError(f"{path} holds no replay; give a file that `tickdisk replay` wrote")
    frame: pd.DataFrame = arrow.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame.astype({name: "int64" for name in COLUMNS if name not in _WORDS + _NULLABLE})
