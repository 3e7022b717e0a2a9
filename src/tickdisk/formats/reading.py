"""Reads traces: recognises the format, gives the requests in parts, and counts everything else."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tickdisk._native import TraceReader, recognise_trace, trace_formats
from tickdisk.formats.counts import Counts
from tickdisk.formats.merged import MergedSource, files_in, is_numbered
from tickdisk.formats.native_table import requests_of
from tickdisk.formats.rejects import Rejects
from tickdisk.formats.source import STDIN, TraceSource
from tickdisk.formats.stored import is_stored, read_stored
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError

MOST_REJECTED = 0.001
"""Largest share of the lines of a trace that may be impossible to read, unless somebody says otherwise."""
_ADVICE = "name another format by --format, or allow more by --most-rejected"
_FEW = 3
"""This many lines may be rejected in any case."""
_NO_LATENCIES = re.compile(r".*_(bw|iops|slat|clat_hist)(?:\.\d+)*\.log(?:\.\w+)?")
"""Names of fio's logs that have the form of its logs of latencies, but other values."""
_BINARY = {
    b"\x07tae": "a recording of blktrace; print it by blkparse -i",
    b"eat\x07": "a recording of blktrace; print it by blkparse -i",
    b"PERFILE2": "a recording of perf; print it by perf trace -i",
    b"\x17\x08Dtracing": "a recording of trace-cmd; record the tracer blk with blk_classic, or use blktrace",
    b"x\x9c": "compressed by zlib, as fio does with log_store_compressed; print it by fio --inflate-log",
}
"""Beginnings of recordings that are no texts, with what they are and how to get a trace."""
_ROWS = 1 << 17
"""Number of requests that are given at once, at least."""


class Format(NamedTuple):
    """A format of trace files: the name for the option `--format`, a description, and the layer of its requests."""

    name: str
    about: str
    level: str


FORMATS = {name: Format(name, about, level) for name, about, level in trace_formats()}
"""The formats that can be read, by name."""


class Trace:
    """One trace that is read from its beginning to its end.

    `path` is a file, plain or compressed with gzip, zstd or xz, `-` for the standard input, or a folder of files that strace
    wrote with -ff. A file that ends in `.parquet` is a table of requests or of a device. The log of a device and a raw capture of
    bpftrace are recognised. If `format_name` is None, the format is recognised from the content.
    """

    def __init__(self, path: Path, format_name: str | None = None) -> None:
        self.path, self._format = path, format_name
        self.source = MergedSource(path) if path.is_dir() else TraceSource(path)
        self._also: list[str] = []
        self.counts = Counts(format_name or "")
        """Counts of what has been read so far, which are complete at the end."""

    def batches(self, rejects: Rejects, most_rejected: float = MOST_REJECTED, advice: str = _ADVICE) -> Iterator[pa.Table]:
        """Yields the requests of the trace in parts, in the order of its lines, with the schema of `requests`.

        Values that the trace does not have are null. `rejects` takes the lines that cannot be read. `most_rejected` is the
        largest share of them. If it is not 0, up to three lines may be rejected in any case. The message of the error ends with
        `advice`. Raises TickdiskError if the trace is empty, no format fits, or too many lines cannot be read.
        """
        if self._format is None and is_stored(self.path):
            rows, self.counts = read_stored(self.path, rejects)
            self._check(rejects, most_rejected, advice)
            yield self._counted(rows)
            return
        with closing(self.source.parts()) as parts:
            first = next(parts)
            reader = TraceReader(self._recognised(first))
            level = FORMATS[self.counts.format].level
            for part in chain([first], parts):
                waiting = reader.feed(part)
                self._take_rejects(reader, rejects)
                if reader.refusal is not None:
                    break
                if waiting >= _ROWS:
                    yield self._counted(requests_of(reader, level, self.counts.requests))
        if reader.end():
            yield self._counted(requests_of(reader, level, self.counts.requests))
        self._take_rejects(reader, rejects)
        self._finish(reader)
        if reader.refusal is not None:
            raise TickdiskError(f"{self.path}: {reader.refusal}")
        self._check(rejects, most_rejected, advice)
        if self.counts.requests == 0:
            raise TickdiskError(f"{self.path} has no request among its {self.counts.lines} lines of {self.counts.format}")

    def _recognised(self, first: bytes) -> str:
        fitting = recognise_trace(first) if self._format is None else [self._format]
        if recording := next((about for begin, about in _BINARY.items() if first.startswith(begin)), None):
            raise TickdiskError(f"{self.path} is {recording}")
        is_log = not fitting or fitting[0].startswith("fio-latencies")
        if self._format is None and is_log and (other := _NO_LATENCIES.fullmatch(self.path.name)):
            raise TickdiskError(
                f"{self.path} is fio's log {other[1]} by its name, whose values are no latencies of requests; give the log clat "
                "or lat, or name the format by --format if it is one"
            )
        if not fitting:
            line = first.split(b"\n", 1)[0][:80].decode("utf-8", "replace").encode("unicode_escape").decode()
            raise TickdiskError(
                f"{self.path}: no known format of traces fits the first lines (`{line}`); name one by --format: "
                f"{', '.join(FORMATS)}"
            )
        name = fitting[0]
        if name not in FORMATS:
            raise TickdiskError(f"there is no format {name}; the formats are {', '.join(FORMATS)}")
        self.counts.format, self._also = name, fitting[1:]
        return name

    def _take_rejects(self, reader: TraceReader, rejects: Rejects) -> None:
        for line, reason, text in reader.take_rejects():
            rejects.keep(str(self.path), line, f"the line {reason}", text)

    def _counted(self, requests: pa.Table) -> pa.Table:
        counts = self.counts
        counts.requests += len(requests)
        counts.known |= {name for name in requests.column_names if requests[name].null_count < len(requests)}
        sized = requests.append_column("bytes", _moved_bytes(requests))
        by_op = sized.group_by("op").aggregate([("seq", "count"), ("bytes", "sum")])
        for op, number, size in zip(*(by_op[name].to_pylist() for name in ("op", "seq_count", "bytes_sum")), strict=True):
            before = counts.by_op.get(op or "not known", (0, 0))
            counts.by_op[op or "not known"] = (before[0] + number, before[1] + (size or 0))
        return requests

    def _finish(self, reader: TraceReader) -> None:
        counts = self.counts
        counts.lines, counts.unfinished = reader.lines, reader.unfinished
        counts.rejected, counts.contradictions = reader.rejected, reader.contradictions
        counts.skipped, counts.facts = reader.skipped, reader.facts
        counts.lacks = {kind: counts.skipped[kind] for kind in reader.lacking}
        if self._also:
            said = counts.facts.get("choice", f"the trace is read as {counts.format}")
            counts.facts["choice"] = f"{said}; it also fits {', '.join(self._also)}, which --format names"

    def _check(self, rejects: Rejects, most_rejected: float, advice: str) -> None:
        rejected = sum(count for count, _ in self.counts.rejected.values())
        if rejected > (max(_FEW, most_rejected * self.counts.lines) if most_rejected else 0):
            reason, (_, line) = max(self.counts.rejected.items(), key=lambda rejected_kind: rejected_kind[1][0])
            kept = f"they are in {rejects.path}; " if rejects.path is not None else ""
            raise TickdiskError(
                f"{self.path}: {rejected} of {self.counts.lines} lines cannot be read as {self.counts.format}; "
                f"line {line} {reason}; {kept}{advice}"
            )


def traces_of(paths: Iterable[Path]) -> list[Path]:
    """Returns the traces that files and folders name, in order.

    A folder in which every name ends with a number, as strace writes with -ff, is one trace, and so is the folder of a capture,
    which has a file `requests.parquet`. The files of another folder are a trace each. Raises TickdiskError if a folder has no
    files, or the standard input is named twice.
    """
    traces = list[Path]()
    for path in paths:
        if path == STDIN and path in traces:
            raise TickdiskError("the standard input can be read only once; name it by a single -")
        if (captured := path / "requests.parquet").is_file():
            traces.append(captured)
        elif path.is_dir() and not is_numbered(path):
            files = files_in(path)
            if not files:
                raise TickdiskError(f"{path} has no files; give a trace, or a folder of traces")
            traces += files
        else:
            traces.append(path)
    return traces


def read(
    paths: Sequence[Path],
    format_name: str | None = None,
    *,
    rejects: Path | None = None,
    most_rejected: float = MOST_REJECTED,
    advice: str = _ADVICE,
    progress: Callable[[Trace], None] = lambda _: None,
) -> tuple[pd.DataFrame, list[Counts]]:
    """Reads all requests of traces (see `traces_of`) into one requests table, and counts everything in each trace.

    If `format_name` is None, the format of each file is recognised from its content. `rejects` is a file for the lines that
    cannot be read, which are only counted if it is None. `most_rejected` and `advice` are as in `Trace.batches`. Raises
    TickdiskError if a trace cannot be read.
    """
    parts, counts = list[pa.Table](), list[Counts]()
    with Rejects(rejects) as kept:
        for path in traces_of(paths):
            trace = Trace(path, format_name)
            for requests in trace.batches(kept, most_rejected, advice):
                parts.append(requests)
                progress(trace)
            counts.append(trace.counts)
    joined = pa.concat_tables(parts)
    return table.frame("requests", joined).assign(seq=range(len(joined))), counts


def _moved_bytes(requests: pa.Table) -> pa.Array:
    """Returns the bytes that each read, write or discard moved: its result, or else its length, or null. Others moved 0."""
    moves = pc.is_in(requests["op"], value_set=pa.array(["read", "write", "discard"]))
    return pc.if_else(moves, pc.coalesce(requests["result"], requests["length"]), 0)
