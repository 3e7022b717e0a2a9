"""Makes workloads for pools from traces: filters requests, makes them complete, and finds what each has waited for."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk._native import complete_workload, find_dependencies
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError

SECTOR_BYTES, PAGE_BYTES = 512, 4096
MOST_BYTES = 1 << 24
"""Largest size of a request in bytes, unless somebody says otherwise."""
_SEGMENT_PAGES = 64
_MOST_OFFSET = float(1 << 62)
_COLUMNS = ("begin_ns", "end_ns", "is_write", "page", "pages")


@dataclass(frozen=True)
class Workload:
    """Requests to volumes in whole pages, which pools can run."""

    name: str
    requests: pd.DataFrame
    """One row per request in the order of their begins: begin_ns and end_ns in the capture, is_write, page (in the space of all
    volumes), pages, and is_inserted (whether the capture does not have it). All are int64."""
    rejected: Mapping[str, int]
    """Number of requests of the trace that do not count, by rule."""
    last_ended: NDArray[np.int64]
    """Number of the request that ended last before each request began, from 1 on, or 0 for none. Shape (n,)."""
    highest: NDArray[np.int64]
    """Highest number among the requests that had ended when each request began, or 0 for none. Shape (n,)."""
    knows_dependencies: bool
    """Whether the trace has latencies, without which it is not known for which requests a request waited."""

    @property
    def inserted(self) -> int:
        """Number of writes that were put before reads, because nothing had written their pages."""
        return int(self.requests["is_inserted"].sum())

    @property
    def differ(self) -> int:
        """Number of requests for which the two readings of the published rule name different dependencies."""
        return int((self.last_ended != self.highest).sum())

    def columns(self) -> list[bytes]:
        """Returns the requests in the form in which the native code takes them."""
        return [self.requests[name].to_numpy(dtype="int64").tobytes() for name in _COLUMNS]


def workload_of(
    requests: pd.DataFrame,
    name: str,
    *,
    disk: str | None = None,
    most_sectors: int | None = None,
    most_bytes: int = MOST_BYTES,
    is_filtered_as_printed: bool = False,
) -> Workload:
    """Makes a workload from the requests to block devices in a trace (Shape, Pregen and dependency analysis).

    `requests` is a requests table of the layer `block`, as `formats.read` returns it. Only requests to the volume `disk` count,
    or those to all volumes if it is None. They begin below `most_sectors` sectors of 512 bytes (MAXDISK), have at most
    `most_bytes` bytes (MAXBYTE), and have a size that is a multiple of 4096. With `is_filtered_as_printed`, sizes are filtered by
    the rule that the publication prints instead, which rejects every request of 4096 bytes or more.

    If the trace has no latencies, a request depends on nothing but the writes that were put before it. Raises TickdiskError if
    the requests are system calls, or none of them counts.
    """
    if set(requests["level"]) - {"block"}:
        raise TickdiskError(f"{name} has system calls, and pools need requests to a block device; capture them with biosnoop")
    size = requests["length"].to_numpy(dtype="float64", na_value=np.nan)
    offset = requests["offset"].to_numpy(dtype="float64", na_value=np.nan)
    has_latency = bool(requests["latency_ns"].notna().any())
    needed = ["start_ns", "offset", "length", "op", *(["latency_ns"] if has_latency else [])]
    known = requests[needed].notna().all(axis=1).to_numpy()
    volume = requests["volume"].fillna("")
    odd = size // PAGE_BYTES != 0 if is_filtered_as_printed else size % PAGE_BYTES != 0
    rules = {
        "another disk": np.zeros(len(requests), dtype=bool) if disk is None else (volume != disk).to_numpy(),
        "the trace does not tell the operation": requests["op"].isna().to_numpy(),
        "neither read nor write": ~requests["op"].isin(["read", "write"]).to_numpy(),
        "failed": requests["errno"].fillna(0).ne(0).to_numpy(),
        "a field is missing": ~known,
        "beyond the device": np.zeros(len(requests), dtype=bool)
        if most_sectors is None
        else offset >= most_sectors * SECTOR_BYTES,
        "an offset or a size that no disk has": (offset < 0) | (offset >= _MOST_OFFSET) | (size < 0) | (size >= _MOST_OFFSET),
        "without a size": size == 0,
        "size / 4096 is not 0 (as printed)" if is_filtered_as_printed else "size is no multiple of 4096 bytes": odd,
        f"size is over {most_bytes} bytes": size > most_bytes,
    }
    reason = np.select(list(rules.values()), np.arange(1, len(rules) + 1).tolist(), default=0)
    rejected = {rule: int((reason == number).sum()) for number, rule in enumerate(rules, 1)}
    counted = requests[reason == 0]
    if counted.empty:
        told = "; ".join(f"{rule}: {count}" for rule, count in rejected.items() if count)
        raise TickdiskError(f"{name}: none of {len(requests)} requests counts ({told}); name another disk, or other limits")
    counted = counted if has_latency else counted.assign(latency_ns=pd.array([0] * len(counted), dtype="Int64"))
    whole = table.need(counted, ("start_ns", "latency_ns", "offset", "length"), task="a pool")
    return _completed(whole, name, rejected, knows_dependencies=has_latency)


def _completed(counted: pd.DataFrame, name: str, rejected: Mapping[str, int], *, knows_dependencies: bool) -> Workload:
    counted = counted.sort_values(["start_ns", "seq"], kind="stable")
    volumes = pd.Categorical(counted["volume"].fillna(""))
    first = (counted["offset"] // PAGE_BYTES).to_numpy()
    last = (-(-(counted["offset"] + counted["length"]) // PAGE_BYTES)).to_numpy()
    # Each volume has a range of its own, which begins at a segment.
    room = -(-int(last.max()) // _SEGMENT_PAGES) * _SEGMENT_PAGES
    begin_ns = (counted["start_ns"] - counted["start_ns"].min()).to_numpy()
    incomplete = [
        begin_ns,
        begin_ns + counted["latency_ns"].clip(lower=0).to_numpy(),
        (counted["op"] == "write").to_numpy(),
        first + volumes.codes.astype("int64") * room,
        last - first,
    ]
    columns = complete_workload([np.asarray(values, dtype="int64").tobytes() for values in incomplete])
    requests = pd.DataFrame({key: _array(column) for key, column in zip([*_COLUMNS, "is_inserted"], columns, strict=True)})
    last_ended, highest = (_array(column) for column in find_dependencies(columns[: len(_COLUMNS)]))
    if not knows_dependencies:
        # A read still waits for the writes that were put before it.
        follows = requests["is_inserted"].shift(fill_value=0).to_numpy() == 1
        last_ended = highest = np.where(follows, np.arange(len(requests)), 0)
    return Workload(name, requests, rejected, last_ended, highest, knows_dependencies)


def _array(column: bytes) -> NDArray[np.int64]:
    return np.frombuffer(column, dtype="int64")
