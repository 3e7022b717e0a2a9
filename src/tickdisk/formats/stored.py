"""Reads requests that this project itself has written: its tables, logs of emulated devices, and raw captures of bpftrace."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk import device, trace
from tickdisk.formats.counts import Counts
from tickdisk.formats.rejects import Rejects
from tickdisk.foundation import clock, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.paths import stored

SUFFIX = ".parquet"
_TABLE_OF_DEVICE = "device"
_BEFORE = "requests of the device's set-up"
_UNREAD = "is none that the program of a capture prints"


def is_stored(path: Path) -> bool:
    """Returns whether a file is a table, by its name, or the log of a device or a raw capture of bpftrace, by its content."""
    return path.suffix == SUFFIX or device.is_log(path) or trace.is_raw_capture(path)


def read_stored(path: Path, rejects: Rejects) -> tuple[pa.Table, Counts]:
    """Reads a table of requests, the table of a device in a server life, the log of a device, or a raw capture of bpftrace.

    In the log of a device, a request begins when the kernel issues it, and ends when the kernel has the reply. Requests of the
    set-up, before the device had a delay, are left out if there are others. A raw capture is read as `tickdisk capture` reads it,
    except that its files have no type of data. Raises TickdiskError if the file cannot be read, or has no request.
    """
    if trace.is_raw_capture(path):
        counts, rows = _of_capture(path, rejects)
    elif path.suffix != SUFFIX:
        counts, rows = _of_device("log of a device", device.read_log(path).to_pandas())
    elif _name(path) == _TABLE_OF_DEVICE:
        counts, rows = _of_device("table of a device", table.read(_TABLE_OF_DEVICE, path))
    else:
        rows = table.read("requests", path)
        counts = Counts("table of requests", lines=len(rows), lacks=table.lacks(path))
    if rows.empty:
        raise TickdiskError(f"{path} has no request; give another {counts.format}")
    return pa.Table.from_pandas(rows, schema=table.SCHEMAS["requests"], preserve_index=False), counts


def _name(path: Path) -> str:
    """Returns the name of the table in a file, or an empty text if the file has none or cannot be read."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid):
        return ""
    return str(metadata.get(b"table", b"").decode())


def _of_capture(path: Path, rejects: Rejects) -> tuple[Counts, pd.DataFrame]:
    raw = trace.RawCapture(path)
    # The samples of the clocks convert the times of strace. The times of bpftrace are in CLOCK_MONOTONIC already.
    capture = trace.parse(raw, pd.DataFrame([clock.sample()]))
    summary = capture.summary
    counts = Counts("raw capture of bpftrace", lines=summary.lines, unfinished=summary.unfinished)
    counts.facts["clock"] = "CLOCK_MONOTONIC"
    if summary.rejects:
        unread = set(summary.rejects)
        numbered = enumerate(raw.text.split(b"\n"), start=1)
        lines = [(number, line) for number, line in numbered if stored(line) in unread]
        for number, line in lines:
            rejects.keep(str(path), number, f"the line {_UNREAD}", line)
        counts.rejected[_UNREAD] = (len(lines), lines[0][0])
    skipped = {
        "calls on descriptors that are not files": summary.not_files,
        "calls of processes that only start others": summary.other_processes,
        "names of files that bpftrace has cut off": summary.cut_paths,
        **{f"call {name}": count for name, count in summary.not_followed.items()},
    }
    counts.lacks = dict(capture.lacks)
    counts.skipped = {kind: count for kind, count in skipped.items() if count} | counts.lacks
    return counts, capture.requests.reindex(columns=table.SCHEMAS["requests"].names)


def _of_device(format_name: str, log: pd.DataFrame) -> tuple[Counts, pd.DataFrame]:
    counts = Counts(format_name, lines=len(log), facts={"clock": "CLOCK_MONOTONIC"})
    used = log["setting"] > 0
    requests = log[used] if used.any() else log
    if len(requests) < len(log):
        counts.skipped[_BEFORE] = len(log) - len(requests)
    latency_ns = (requests["replied_ns"] - requests["arrival_ns"]).astype("Int64")
    early = (latency_ns < 0).to_numpy(dtype=bool)
    if early.any():
        first = int(np.flatnonzero(early)[0]) + 1 + len(log) - len(requests)
        counts.contradictions["a reply came before its request"] = (int(early.sum()), first)
    flushes = requests["op"] == "flush"
    known = {
        "level": "block",
        "op": requests["op"],
        "start_ns": requests["arrival_ns"],
        "latency_ns": latency_ns.mask(early),
        "offset": requests["offset"].astype("Int64").mask(flushes),
        "length": requests["length"].astype("Int64").mask(flushes),
    }
    rows = pd.DataFrame({name: known.get(name) for name in table.SCHEMAS["requests"].names}, index=requests.index)
    return counts, rows.assign(seq=range(len(rows)))
