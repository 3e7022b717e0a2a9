"""Makes tables of requests from what a native reader of traces has read."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tickdisk._native import TraceReader
from tickdisk.foundation.paths import stored
from tickdisk.foundation.table import SCHEMAS

Column = tuple[str, bytes | None, bytes, Sequence[bytes] | None]
"""Name, one bit for each value that is there or None if all are, values as int64, and the texts that the values number."""


def requests_of(reader: TraceReader, level: str, first: int) -> pa.Table:
    """Takes the requests that a reader has read, as a table with the schema of `requests`, numbered from `first`.

    `level` is their layer, `syscall` or `block`. Columns that the trace does not have are null.
    """
    rows, columns = reader.take()
    arrays = {name: _array(rows, known, values, texts) for name, known, values, texts in columns}
    arrays["seq"] = pa.array(np.arange(first, first + rows, dtype=np.int64))
    arrays["level"] = pa.repeat(level, rows)
    schema = SCHEMAS["requests"]
    return pa.Table.from_arrays(
        [arrays[field.name] if field.name in arrays else pa.nulls(rows, field.type) for field in schema], schema=schema
    )


def _array(rows: int, known: bytes | None, values: bytes, texts: Sequence[bytes] | None) -> pa.Array:
    valid = None if known is None else pa.py_buffer(known)
    numbers = pa.Array.from_buffers(pa.int64(), rows, [valid, pa.py_buffer(values)])
    if texts is None:
        return numbers
    return pa.array([stored(text) for text in texts], pa.string()).take(numbers)
