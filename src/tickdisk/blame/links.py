"""Describes the links of a chain: the thread, the system call, the bytes of the file, and the request of the device."""

import numpy as np
import pandas as pd

from tickdisk.blame.evidence import CaptureEvidence
from tickdisk.blame.lanes import NONE, Integers, ThreadWaits
from tickdisk.blame.requests import READS, FilesOnDevice, device_requests_of, requests_of
from tickdisk.foundation.waiting import TimeKind

JOURNAL = "journal or metadata"
"""Stands in place of a file for requests of the device outside every file's extents, which belong to the file system itself."""
SAVES = ("write", "sync", "truncate", "fallocate", "rename", "link", "symlink", "unlink", "mkdir", "rmdir")
"""Kinds of requests that belong to saves."""
_TEXT = ("op", "file", "data", "storing", "device_op", "device_file")


def describe(chain: pd.DataFrame, lanes: ThreadWaits, evidence: CaptureEvidence) -> pd.DataFrame:
    """Returns the links of `chain.follow` with names instead of numbers, and with the requests that were waited for.

    `lanes` are the waits that were followed. The columns are depth, parent, thread_name, kind, call, start_ns, end_ns, ns, then
    of the request its number `request`, op, file, offset, length, data and storing, then of the device's request its number
    `device`, device_op, device_file, device_offset and device_ns (from arrival to reply), then device_requests (the number of the
    device's requests that were waited for) and routine (a read, a save or another wait, in the tick thread or behind a lock). An
    absent text is "", and an absent number is NA.
    """
    waits = evidence.waits
    wait, parent, lane = (chain[name].to_numpy() for name in ("wait", "parent", "lane"))
    row = np.append(lanes.rows, NONE)[wait]
    names = waits.drop_duplicates("thread", keep="last").set_index("thread")["thread_name"].reindex(lanes.threads)
    holder = np.append(waits["waker_name"].fillna("").to_numpy(), "")[np.append(row, NONE)[parent]]
    links = chain[["depth", "parent", "start_ns", "end_ns", "ns"]].copy()
    links.insert(2, "thread_name", np.where(lane == NONE, holder, np.append(names.to_numpy(), "")[lane]))
    links.insert(3, "kind", chain["kind"])
    links.insert(4, "call", np.append(waits["call"].to_numpy(), "")[row])
    is_io = links["kind"].to_numpy() == TimeKind.IO
    io = np.unique(row[is_io])
    at = np.where(is_io, np.searchsorted(io, row), NONE)
    joined = _joined(waits.iloc[io].reset_index(drop=True), evidence).reindex(at).set_axis(links.index)
    links = pd.concat([links, joined.assign(**{name: _text(joined[name]) for name in _TEXT})], axis=1)
    what = np.select([links["op"].isin(READS), links["op"].isin(SAVES)], ["read", "save"], "other wait for storage")
    where = np.where(links["depth"] == 0, " in the tick thread", " behind a lock")
    links["routine"] = np.where(is_io, what.astype(object) + where.astype(object), "")
    return links


def describe_waits(io: pd.DataFrame, evidence: CaptureEvidence) -> pd.DataFrame:
    """Returns waits for storage, given as rows of the waits table, with the requests that they waited for.

    The columns are thread_name, call, start_ns and end_ns, and those that `describe` has for a request and for the device's
    request.
    """
    io = io.reset_index(drop=True)
    joined = _joined(io, evidence)
    return io[["thread_name", "call", "start_ns", "end_ns"]].join(joined.assign(**{name: _text(joined[name]) for name in _TEXT}))


def _joined(io: pd.DataFrame, evidence: CaptureEvidence) -> pd.DataFrame:
    """Returns the request and the device's request of each wait for storage."""
    request = _rows_at(evidence.requests, requests_of(io, evidence.requests))
    asked = pd.DataFrame(
        {
            "request": request["seq"],
            **{name: _text(request[name]) for name in ("op", "file", "data", "storing")},
            **{name: request[name] for name in ("offset", "length")},
        }
    )
    device, extents = evidence.device, evidence.extents
    if device is None or extents is None:
        nothing = pd.array([pd.NA] * len(io), dtype="Int64")
        numbers = dict.fromkeys(("device", "device_offset", "device_ns", "device_requests"), nothing)
        return asked.assign(device_op="", device_file="", **numbers)
    files = FilesOnDevice.of(device, extents)
    windows = asked[["op", "file", "storing"]].join(io[["start_ns", "end_ns"]])
    windows = windows.assign(**{name: asked[name].fillna(NONE).astype("int64") for name in ("offset", "length")})
    row, count = device_requests_of(windows, device, files)
    served = _rows_at(device, row)
    return asked.assign(
        device=served["seq"],
        device_op=_text(served["op"]),
        device_file=[
            _named(files, at, file) if op in ("read", "write") else ""
            for at, file, op in zip(row.tolist(), asked["file"], served["op"], strict=True)
        ],
        device_offset=served["offset"],
        device_ns=served["replied_ns"] - served["arrival_ns"],
        device_requests=pd.array(count, dtype="Int64"),
    )


def _named(files: FilesOnDevice, row: int, preferred: str) -> str:
    """Returns the file that a read or write of the device touches. If it touches several, the file `preferred` is returned."""
    names = files.files(row)
    return preferred if preferred in names else min(names, default=JOURNAL)


def _text(column: "pd.Series[str]") -> "pd.Series[str]":
    return column.astype(object).where(column.notna(), "")


def _rows_at(table: pd.DataFrame, rows: Integers) -> pd.DataFrame:
    """Returns the rows with these numbers, or NA for -1. Integers become Int64."""
    numbers = table.select_dtypes("integer").columns
    return table.astype(dict.fromkeys(numbers, "Int64")).reset_index(drop=True).reindex(rows).reset_index(drop=True)
