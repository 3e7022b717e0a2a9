"""Reads requests that this project itself has written: its tables, and the log of an emulated device."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk import device, table
from tickdisk.errors import TickdiskError

SUFFIX = ".parquet"
"""Suffix of a table."""
_TABLE_OF_DEVICE = "device"
_BEFORE = "requests of the device's set-up"


def is_stored(path: Path) -> bool:
    """Returns whether a file is a table, by its name, or the log of a device, by its content."""
    return path.suffix == SUFFIX or device.is_log(path)


def read_stored(path: Path) -> tuple[str, pa.Table, dict[str, int]]:
    """Reads a table of requests, the table of a device in a server life, or the log of a device.

    In the log of a device, a request begins when the kernel issues it, and ends when the kernel has the reply. Requests of the
    set-up, before the device had a delay, are left out if there are others.

    Parameters
    ----------
    path
        File to read.

    Returns
    -------
    str
        What the file is, in words.
    Table
        The requests, with the schema of `requests`.
    dict
        Number of what was left out, by kind.

    Raises
    ------
    TickdiskError
        If the file cannot be read, or has no request.
    """
    if path.suffix != SUFFIX:
        found, (rows, skipped) = "log of a device", _of_device(device.read_log(path).to_pandas())
    elif _name(path) == _TABLE_OF_DEVICE:
        found, (rows, skipped) = "table of a device", _of_device(table.read(_TABLE_OF_DEVICE, path))
    else:
        found, rows, skipped = "table of requests", table.read("requests", path), {}
    if rows.empty:
        raise TickdiskError(f"{path} has no request; give another {found}")
    return found, pa.Table.from_pandas(rows, schema=table.SCHEMAS["requests"], preserve_index=False), skipped


def _name(path: Path) -> str:
    """Returns the name of the table in a file, or an empty text if the file has none or cannot be read."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid):
        return ""
    return str(metadata.get(b"table", b"").decode())


def _of_device(log: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    used = log["setting"] > 0
    chosen = log[used] if used.any() else log
    flushes = chosen["op"] == "flush"
    known = {
        "level": "block",
        "op": chosen["op"],
        "start_ns": chosen["arrival_ns"],
        "latency_ns": chosen["replied_ns"] - chosen["arrival_ns"],
        "offset": chosen["offset"].astype("Int64").mask(flushes),
        "length": chosen["length"].astype("Int64").mask(flushes),
        "errno": 0,
    }
    names = table.SCHEMAS["requests"].names
    rows = pd.DataFrame({name: known.get(name) for name in names}, index=chosen.index)
    left_out = len(log) - len(chosen)
    return rows.assign(seq=range(len(rows))), {_BEFORE: left_out} if left_out else {}
