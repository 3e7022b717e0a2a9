"""The device's own log, which has one record for each request."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from tickdisk.foundation.errors import TickdiskError

OPS = ("read", "write", "flush", "discard")
RECORD = np.dtype(
    [
        ("seq", "<u8"),
        ("offset", "<u8"),
        ("length", "<u8"),
        ("arrival_ns", "<u8"),
        ("nominal_ns", "<u8"),
        ("replied_ns", "<u8"),
        ("inflight", "<u4"),
        ("setting", "<u4"),
        ("op", "<u4"),
        ("unused", "<u4"),
    ]
)
"""Layout of a record, as src/native/src/log.rs writes it."""
_COLUMNS = ("seq", "op", "offset", "length", "arrival_ns", "inflight", "nominal_ns", "replied_ns", "setting")


def is_log(path: Path) -> bool:
    """Returns whether the first record of a file has the form of a device's log. False also if there is no such file."""
    try:
        first = np.fromfile(path, dtype=RECORD, count=1) if path.is_file() else np.zeros(0, RECORD)
    except OSError:
        return False
    if not len(first):
        return False
    record = first[0]
    is_possible = record["op"] < len(OPS) and record["unused"] == 0 and record["inflight"] > 0
    return bool(is_possible and record["arrival_ns"] > 0 and record["replied_ns"] > 0)


def read_log(path: Path) -> pa.Table:
    """Reads the log of a mounted device, with a row for each request in the order of arrival.

    If the file is missing or is no log, TickdiskError is raised. Times are in ns of CLOCK_MONOTONIC. The columns are:

    - `seq`: number of the request, from 0 on.
    - `op`: operation, one of `OPS`.
    - `offset`, `length`: place of the request in bytes, on the disk, or in its file if the device is a tree.
    - `arrival_ns`: time at which the kernel issued the request, if the kernel tells (`device.arrivals`). Otherwise it is the
      time at which the emulator took it.
    - `inflight`: number of requests in the device when this one was taken, including this one.
    - `nominal_ns`: completion according to the model, without the floor.
    - `replied_ns`: time at which the kernel had the reply.
    - `setting`: number of the setting in force. Setting 0 has no delay and belongs to the set-up of the device.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; a device writes a log if it is brought up with `log_path`") from error
    if size % RECORD.itemsize:
        raise TickdiskError(f"{path}: {size} bytes are no whole number of records; give a log, or run again if the emulator died")
    records = np.sort(np.fromfile(path, dtype=RECORD), order="seq")
    if records["op"].max(initial=0) >= len(OPS):
        raise TickdiskError(f"{path} is not a device log; give the file named as `log_path`")
    ops = pa.DictionaryArray.from_arrays(records["op"].astype(np.int32), list(OPS)).cast(pa.string())
    columns = {name: ops if name == "op" else pa.array(records[name].astype(np.int64)) for name in _COLUMNS}
    return pa.table(columns)
