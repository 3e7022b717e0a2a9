"""The device's own log: one row a request."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from tickdisk.errors import TickdiskError

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
"""As src/native/src/log.rs writes it."""
_COLUMNS = ("seq", "op", "offset", "length", "arrival_ns", "inflight", "nominal_ns", "replied_ns", "setting")


def read_log(path: Path) -> pa.Table:
    """Returns the log in the order of arrival: seq, op, offset, length, arrival_ns, inflight, nominal_ns, replied_ns, setting.

    Offset and length are bytes; `arrival_ns` is when the kernel issued the request, where it says so (`device.arrivals`), else
    when the emulator took it; `inflight` counts the requests in the device when it was taken, this one included; `nominal_ns` is
    the model's completion, without the floor; `replied_ns` is when the kernel had the reply. Times are CLOCK_MONOTONIC. Setting
    0, without delay, is the set-up. TickdiskError when the file is missing or no log.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; give `log_path` when the device is mounted") from error
    if size % RECORD.itemsize:
        raise TickdiskError(f"{path}: {size} bytes are no whole number of records; it is no log, or the emulator died: run again")
    records = np.sort(np.fromfile(path, dtype=RECORD), order="seq")
    if records["op"].max(initial=0) >= len(OPS):
        raise TickdiskError(f"{path} is not a device log; give the file named as `log_path`")
    ops = pa.DictionaryArray.from_arrays(records["op"].astype(np.int32), list(OPS)).cast(pa.string())
    columns = {name: ops if name == "op" else pa.array(records[name].astype(np.int64)) for name in _COLUMNS}
    return pa.table(columns)
