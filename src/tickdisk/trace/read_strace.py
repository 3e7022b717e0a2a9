"""Reads strace's output into requests, by the native reader that also reads traces that others made."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tickdisk._native import TraceReader
from tickdisk.formats import native_table
from tickdisk.foundation import table
from tickdisk.trace.calls import NOT_FOLLOWED
from tickdisk.trace.reading import text as decoded
from tickdisk.trace.summary import LeftOut

_NOT_FILES = ("calls on descriptors that are not files", "calls on descriptors that the trace does not open")
_OTHER_PROCESSES = "calls of processes that only start others"
_CUT = "names of files that strace has cut off"
_CALL = "call "


@dataclass(frozen=True)
class StraceReading:
    """The requests in strace's output, in the clock of its stamps, and counts of everything else."""

    requests: pd.DataFrame
    """Rows of the requests table."""
    lines: int
    rejects: list[str]
    """Lines that strace cannot have written."""
    calls: int
    unfinished: int
    """Number of requests that had not ended."""
    left_out: LeftOut
    cut_paths: int
    """Number of paths that strace cut off because they were too long."""
    lacks: Mapping[str, int]
    """Number of things that happened and are no requests, by kind."""


def read_strace(raw: bytes, snapshots: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> StraceReading:
    """Reads strace's output, as in `RawCapture.text`, with `snapshots` of the processes that ran when the capture began. The
    places of appends follow from `sizes`, the sizes of files at its end, by path.
    """
    reader = TraceReader("strace")
    for snapshot in snapshots:
        _begin(reader, snapshot)
    reader.feed(raw)
    for path, size in sizes.items():
        reader.size(os.fsencode(path), size)
    reader.end()
    requests = table.frame("requests", native_table.requests_of(reader, "syscall", 0))
    skipped = reader.skipped
    other_calls = {kind.removeprefix(_CALL): count for kind, count in skipped.items() if kind.startswith(_CALL)}
    left_out = LeftOut(
        not_files=sum(skipped.get(kind, 0) for kind in _NOT_FILES),
        other_processes=skipped.get(_OTHER_PROCESSES, 0),
        not_followed={name: count for name, count in other_calls.items() if name in NOT_FOLLOWED},
    )
    return StraceReading(
        requests=requests,
        lines=reader.lines,
        rejects=[decoded(line) for _, _, line in reader.take_rejects()],
        calls=len(requests) + sum(other_calls.values()) + left_out.not_files + left_out.other_processes,
        unfinished=reader.unfinished,
        left_out=left_out,
        cut_paths=skipped.get(_CUT, 0),
        lacks={kind: skipped[kind] for kind in reader.lacking},
    )


def _begin(reader: TraceReader, snapshot: Mapping[str, Any]) -> None:
    reader.begin(
        snapshot["pid"],
        os.fsencode(snapshot["cwd"]),
        os.fsencode(snapshot["root"]),
        [(int(thread), os.fsencode(name)) for thread, name in snapshot["threads"].items()],
        [(int(fd), os.fsencode(path), flags, position, size) for fd, (path, flags, position, size) in snapshot["files"].items()],
        [(start, end - start, offset, os.fsencode(path)) for start, end, offset, _, _, path in snapshot["maps"]],
    )
