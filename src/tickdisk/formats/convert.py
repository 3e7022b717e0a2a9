"""Writes the requests of traces as a Parquet table, as a trace file of fio, or as a list like the traces of MSR Cambridge."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk.formats.anonymous import Anonymous
from tickdisk.formats.counts import Counts
from tickdisk.formats.reading import MOST_REJECTED, Trace, traces_of
from tickdisk.formats.rejects import Rejects, is_rejects
from tickdisk.foundation import paths, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole, write_text
from tickdisk.foundation.storing import BUFFERED, sync_of

ENDINGS = {
    ".parquet": "a Parquet table",
    ".iolog": "a trace file of fio with its job file",
    ".csv": "a list like MSR Cambridge's",
}
_TICKS_BEFORE_1970 = 116_444_736_000_000_000
"""Number of units of 100 ns from the beginning of 1601, where Windows' file time begins, to that of 1970."""
_NS_PER_TICK = 100
_FIO_NAME_BYTES = 256
_FIO_ACTIONS = {"read": "read", "write": "write", "discard": "trim", "flush": "sync"}
_FIO_SYNCS = {"fsync": "sync", "fdatasync": "datasync"}

Take = Callable[[pa.Table], None]


def convert(
    traces: Sequence[Path],
    output: Path,
    format_name: str | None = None,
    *,
    anonymise: bool = False,
    most_rejected: float = MOST_REJECTED,
    progress: Callable[[Trace], None] = lambda _: None,
) -> tuple[list[Counts], dict[str, int]]:
    """Writes the requests of traces, which follow each other, to a file in the format that its ending names.

    `.parquet` is the requests table that `docs/columns.md` describes, `.iolog` a trace file of fio's version 3, beside which a
    job file with the ending `.fio` is written, and `.csv` a list of values like the traces of MSR Cambridge. The output
    appears only when it is whole. Lines that cannot be read, at most the share `most_rejected` of a trace, are kept in a file
    beside it, whose name ends with `.rejects`. `progress` is called again and again while a trace is read.

    Returns the counts of each trace, and the number of requests that the output's format cannot hold, by reason. Raises
    TickdiskError if the ending has another format, a trace cannot be read, or the output needs what the traces do not have.
    """
    writer = _WRITERS.get(output.suffix)
    if writer is None:
        raise TickdiskError(f"{output} must end in {', '.join(f'{end} ({what})' for end, what in ENDINGS.items())}")
    counts, left_out, names = list[Counts](), Counter[str](), Anonymous() if anonymise else None
    lacks = Counter[str]()
    rejects = Rejects(_rejects_of(output))
    with rejects, writer(output, left_out, lacks) as take:
        for path in traces_of(traces):
            trace = Trace(path, format_name)
            for requests in trace.batches(rejects, most_rejected):
                take(requests if names is None else names.replace(requests))
                progress(trace)
            counts.append(trace.counts)
            lacks.update(trace.counts.lacks)
    return counts, dict(left_out)


def outputs_of(output: Path) -> list[Path]:
    """Returns the files that `convert` may write for an output and that may be the user's own: not rejected lines."""
    job = [_job_of(output)] if output.suffix == ".iolog" else []
    return [output, *job, *(path for path in [_rejects_of(output)] if not is_rejects(path))]


def _job_of(output: Path) -> Path:
    return output.with_suffix(".fio")


def _rejects_of(output: Path) -> Path:
    return Path(f"{output}.rejects")


@contextmanager
def _parquet(output: Path, _: Counter[str], lacks: Counter[str]) -> Iterator[Take]:
    with whole(output) as partial, pq.ParquetWriter(partial, table.stored_schema("requests"), compression="zstd") as writer:
        first = 0

        def take(requests: pa.Table) -> None:
            nonlocal first
            numbers = pa.array(np.arange(first, first + len(requests), dtype=np.int64))
            writer.write_table(requests.set_column(0, table.SCHEMAS["requests"].field("seq"), numbers))
            first += len(requests)

        yield take
        writer.add_key_value_metadata(table.lacks_metadata(lacks))


@contextmanager
def _msr(output: Path, left_out: Counter[str], _: Counter[str]) -> Iterator[Take]:
    with whole(output) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")

        def take(requests: pa.Table) -> None:
            for row in requests.to_pylist():
                reason = _unfit_for_msr(row)
                if reason:
                    left_out[reason] += 1
                else:
                    lines.writerow(_msr_line(row))

        yield take


def _unfit_for_msr(row: dict[str, Any]) -> str:
    if row["op"] not in ("read", "write"):
        return "neither read nor write"
    for name in ("start_ns", "latency_ns", "offset", "length"):
        if row[name] is None:
            raise TickdiskError(
                f"request {row['seq']} has no {name}, which every line of MSR's format needs; write a .parquet file instead"
            )
    return ""


def _msr_line(row: dict[str, Any]) -> list[Any]:
    host, _, disk = (row["volume"] or row["file"] or "disk").rpartition(".")
    if not disk.isdigit():
        host, disk = row["volume"] or row["file"] or "disk", "0"
    return [
        _TICKS_BEFORE_1970 + row["start_ns"] // _NS_PER_TICK,
        host,
        disk,
        row["op"].capitalize(),
        row["offset"],
        row["length"],
        row["latency_ns"] // _NS_PER_TICK,
    ]


@contextmanager
def _iolog(output: Path, left_out: Counter[str], _: Counter[str]) -> Iterator[Take]:
    with whole(output) as partial, partial.open("wb") as file:
        file.write(b"fio version 3 iolog\n")
        log = _Iolog(file, left_out)
        yield log.take
    job = ["[global]", "ioengine=psync", "thread=1", "[replay]", f"read_iolog={output.resolve()}"]
    write_text(_job_of(output), "\n".join(job) + "\n")


class _Iolog:
    """Writes requests in fio's version 3, in the order in which they come. A file is added and opened when it is first used."""

    def __init__(self, file: IO[bytes], left_out: Counter[str]) -> None:
        self._file, self._left_out = file, left_out
        self._open: set[str] = set()
        self._first_ns: int | None = None
        self._last_us = 1

    def take(self, requests: pa.Table) -> None:
        for row in requests.to_pylist():
            reason = self._row(row)
            if reason:
                self._left_out[reason] += 1

    def _row(self, row: dict[str, Any]) -> str:
        action = _FIO_SYNCS.get(row["call"]) if row["op"] == "sync" else _FIO_ACTIONS.get(row["op"])
        name = row["file"] or row["volume"]
        if action is None:
            return "neither read, write, sync nor trim"
        if row["errno"]:
            return "a request that failed"
        if name is None:
            return "without a file or a volume"
        encoded = paths.encoded(name)
        if len(encoded) > _FIO_NAME_BYTES or any(byte in b" \t\r\n\v\f" for byte in encoded):
            return "a file name with blanks, or of more than 256 bytes"
        place = b" 0 0"
        if "sync" not in action:
            if row["offset"] is None or row["length"] is None:
                return "without offset or length"
            place = f" {row['offset']} {row['length']}".encode()
        if row["start_ns"] is None:
            raise TickdiskError(
                f"request {row['seq']} has no time, which every line of fio's format needs; write a .parquet file"
            )
        if self._first_ns is None:
            self._first_ns = row["start_ns"]
        # fio does not wait for a time that is earlier than the one before, so the times may not run backwards.
        self._last_us = max(self._last_us, 1 + (row["start_ns"] - self._first_ns) // 1000)
        if name not in self._open:
            self._open.add(name)
            self._line(encoded, b"add")
            self._line(encoded, b"open")
        self._line(encoded, action.encode() + place)
        self._own_sync(encoded, row)
        return ""

    def _own_sync(self, name: bytes, row: dict[str, Any]) -> None:
        """Writes a sync behind a write that waits for the device, because a job of fio opens all files alike."""
        if row["op"] == "write" and (own := sync_of(row["storing"] or BUFFERED)):
            self._line(name, _FIO_SYNCS[own].encode() + b" 0 0")

    def _line(self, name: bytes, rest: bytes) -> None:
        self._file.write(b"%d %s %s\n" % (self._last_us, name, rest))


_WRITERS: dict[str, Callable[[Path, Counter[str], Counter[str]], AbstractContextManager[Take]]] = {
    ".parquet": _parquet,
    ".iolog": _iolog,
    ".csv": _msr,
}
