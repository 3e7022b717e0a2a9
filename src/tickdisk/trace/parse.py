"""Turns a raw capture into the tables `requests` and `waits`, and a summary of the capture."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tickdisk.foundation import clock
from tickdisk.trace.descriptors import follow
from tickdisk.trace.read_bpftrace import read_bpftrace
from tickdisk.trace.read_strace import read_strace
from tickdisk.trace.record import RawCapture
from tickdisk.trace.requests import request_rows
from tickdisk.trace.summary import CaptureSummary, LeftOut
from tickdisk.trace.waits import wait_rows, with_fault_latencies

_WRITABLE = "mappings of files through which a program may write unseen"
OTHER = "other"
"""Type of data of files that are not classified."""


@dataclass(frozen=True)
class ParsedCapture:
    """The tables of a capture, with times in ns of CLOCK_MONOTONIC and the columns in `table.SCHEMAS`, and a summary of it."""

    requests: pd.DataFrame
    """One row per system call on a file, or page fault in a mapped file, in the order of start times."""
    waits: pd.DataFrame | None
    """One row per time in which a thread did not run, with the reason. None if the tool does not capture waits."""
    summary: CaptureSummary
    """The tool, and what arrived, was lost and was left out."""
    lacks: Mapping[str, int]
    """Number of things that happened and are no requests, by kind, such as lost events."""


def parse(
    raw: RawCapture, clocks: pd.DataFrame, *, classify: Callable[[str], str] | None = None, root: Path | None = None
) -> ParsedCapture:
    """Turns the output of a capture tool into a table of the requests that began during the capture, and one of the waits in it.

    `clocks` has samples of the kernel's clocks, which convert strace's times from CLOCK_REALTIME. `classify` takes a file's path
    and returns its type of data, such as terrain. The type is `other` without it, and for files outside the folder `root` if that
    is given.
    """
    facts = raw.facts
    parsed = _of_bpftrace(raw) if facts["tool"] == "bpftrace" else _of_strace(raw, clocks)
    requests = parsed.requests
    requests["level"], requests["data"] = "syscall", _classified(requests["file"], classify, root)
    requests = requests.sort_values("start_ns", kind="stable", ignore_index=True)
    requests["seq"] = requests.index
    moves, failed = requests["op"].isin(["read", "write"]), requests["errno"] > 0
    summary = CaptureSummary(
        tool=facts["tool"],
        version=facts["version"],
        started_ns=facts["started_ns"],
        ended_ns=facts["ended_ns"],
        requests=len(requests),
        lines=parsed.lines,
        events=parsed.events,
        unfinished=parsed.unfinished,
        cut_paths=parsed.cut_paths,
        lost_events=parsed.lost + facts.get("lost_printed", 0),
        rejected=len(parsed.rejects),
        rejects=tuple(parsed.rejects),
        offsets_unknown=int((moves & requests["offset"].isna() & ~failed).sum()),
        files_unknown=int((requests["file"].isna() & (requests["call"] != "sync")).sum()),
        **dict(parsed.left_out),
        missing=tuple(facts.get("missing", [])),
        faults=facts.get("faults"),
    )
    lost = {
        f"ms at the start, in which the process ran and {summary.tool} was not attached yet": facts.get("missed_ns", 0)
        // 1_000_000,
        "processes that it had started before, which are not captured": facts.get("children", 0),
        f"events that {summary.tool} lost": summary.lost_events,
    }
    lacks = {kind: count for kind, count in lost.items() if count} | dict(parsed.lacks)
    return ParsedCapture(requests, parsed.waits, summary, lacks)


@dataclass(frozen=True)
class _Parsed:
    """The requests and waits of a tool's output, in the clock of this process, with counts of the rest."""

    requests: pd.DataFrame
    waits: pd.DataFrame | None
    rejects: list[str]
    lines: int
    events: int
    unfinished: int
    cut_paths: int
    left_out: LeftOut
    lacks: Mapping[str, int]
    lost: int = 0


def _of_bpftrace(raw: RawCapture) -> _Parsed:
    facts = raw.facts
    started_ns, ended_ns = facts["started_ns"], facts["ended_ns"]
    reading = read_bpftrace(raw.text)
    reading.convert(lambda times: times - facts["clock_offset_ns"])
    followed = follow(reading, facts["processes"])
    requests, left_out, lacks = request_rows(
        reading, followed, faults=facts.get("faults"), has_rings=facts.get("has_rings", False), window=(started_ns, ended_ns)
    )
    if writable := _writable_mappings(requests, facts["processes"]):
        lacks[_WRITABLE] = writable
    names = reading.of("thread")[["thread", "ns", "text"]]
    waits = wait_rows(reading, followed, started_ns)
    requests = with_fault_latencies(requests, waits)
    waits["end_ns"] = waits["end_ns"].where(waits["end_ns"] > 0, ended_ns)
    waits = waits[waits["start_ns"].between(started_ns, ended_ns) & (waits["end_ns"] <= ended_ns)].reset_index(drop=True)
    waits["thread_name"] = _named(waits, names)
    requests["thread_name"] = _named(requests, names)
    return _Parsed(
        requests,
        waits,
        reading.rejects,
        reading.lines,
        len(reading.calls) + len(reading.faults) + len(reading.waits),
        reading.unfinished,
        reading.cut_paths,
        left_out,
        lacks,
        reading.lost,
    )


def _writable_mappings(requests: pd.DataFrame, snapshots: Sequence[Mapping[str, Any]]) -> int:
    """Returns the number of mappings of files that are open for reading and writing. Others cannot be written to a file."""
    opened = requests["op"].eq("open") & (requests["flags"].fillna(0).astype("int64") & os.O_ACCMODE).eq(os.O_RDWR)
    before = {path for one in snapshots for path, flags, *_ in one["files"].values() if flags & os.O_ACCMODE == os.O_RDWR}
    mapped = requests["op"].eq("mmap") & requests["errno"].eq(0)
    return int((mapped & requests["file"].isin({*requests.loc[opened, "file"], *before})).sum())


def _of_strace(raw: RawCapture, clocks: pd.DataFrame) -> _Parsed:
    facts = raw.facts
    reading = read_strace(raw.text, facts["processes"], facts["sizes"])
    requests = reading.requests
    requests["start_ns"] = clock.to_monotonic(requests["start_ns"].to_numpy(np.int64), "realtime", clocks)
    inside = requests["start_ns"].between(facts["started_ns"], facts["ended_ns"])
    requests = requests[inside].assign(thread_name=requests["thread_name"].fillna(""))
    return _Parsed(
        requests,
        None,
        reading.rejects,
        reading.lines,
        reading.calls,
        reading.unfinished,
        reading.cut_paths,
        reading.left_out,
        reading.lacks,
    )


def _named(rows: pd.DataFrame, names: pd.DataFrame) -> "pd.Series[str]":
    """Returns the name of each row's thread when the row began, or else its first captured name, or an empty text."""
    named = pd.merge_asof(
        rows[["thread", "start_ns"]].assign(row=rows.index).sort_values("start_ns"),
        names,
        left_on="start_ns",
        right_on="ns",
        by="thread",
    ).set_index("row")["text"]
    first = names.drop_duplicates("thread").set_index("thread")["text"]
    return named.reindex(rows.index).astype(object).fillna(rows["thread"].map(first).astype(object)).fillna("")


def _classified(files: "pd.Series[str]", classify: Callable[[str], str] | None, root: Path | None) -> "pd.Series[str]":
    below = f"{root}/" if root is not None else ""
    data = {file: classify(file) for file in files.dropna().unique() if file.startswith(below)} if classify else {}
    return files.map(lambda file: data.get(file, OTHER))
