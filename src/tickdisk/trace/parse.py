"""A raw capture to the tables of requests and waits."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import clock
from tickdisk.trace.descriptors import follow
from tickdisk.trace.read_bpftrace import read_bpftrace
from tickdisk.trace.read_strace import read_strace
from tickdisk.trace.record import RawCapture
from tickdisk.trace.requests import request_rows
from tickdisk.trace.waits import fill_fault_latency, wait_rows

OTHER = "other"


@dataclass(frozen=True)
class Capture:
    """The tables `requests` and `waits` (None: the tool does not tell), in CLOCK_MONOTONIC, and what the capture was."""

    requests: pd.DataFrame
    waits: pd.DataFrame | None
    summary: dict[str, Any]


def parse(
    raw: RawCapture, clocks: pd.DataFrame, *, classify: Callable[[str], str] | None = None, root: Path | None = None
) -> Capture:
    """Returns the requests that began while the capture ran, and the waits that lie in it.

    `clocks` are samples of the kernel's clocks (strace stamps CLOCK_REALTIME); `classify` gives the data type of files, of those below
    `root` if there is one: all others are `other`.

    The summary: tool, version, started_ns, ended_ns, lines (of the raw text), events (of which lost_events did not
    arrive), requests, rejected with the
    `rejects`, unfinished (requests that had not ended), other_processes (requests of processes that only started the traced ones),
    not_files (calls on sockets, pipes and the like), files_unknown, offsets_unknown, cut_paths, not_followed (calls by name that may
    touch files unseen), missing (tracepoints that this kernel lacks) and faults (the tracepoint that tells page faults).
    """
    facts = raw.facts
    bpf = facts["tool"] == "bpftrace"
    reading = read_bpftrace(raw.text) if bpf else read_strace(raw.text, facts["processes"])
    if bpf:
        reading.convert(lambda times: times - facts["clock_offset_ns"])
    else:
        reading.convert(lambda times: clock.to_monotonic(times, "realtime", clocks))
    followed = follow(reading, facts["processes"], by_birth=bpf)
    window = started_ns, ended_ns = facts["started_ns"], facts["ended_ns"]
    sizes = None if bpf else facts["sizes"]
    requests, left_out = request_rows(reading, followed, sizes=sizes, faults=facts.get("faults"), window=window)
    waits = wait_rows(reading, followed) if bpf else None
    if waits is not None:
        fill_fault_latency(requests, waits)
        waits["end_ns"] = waits["end_ns"].where(waits["end_ns"] > 0, ended_ns)
        waits = waits[(waits["start_ns"] >= started_ns) & (waits["end_ns"] <= ended_ns)].reset_index(drop=True)
        waits["thread_name"] = _named(waits, reading.names)
    requests["thread_name"] = _named(requests, reading.names)
    requests["level"], requests["data"] = "syscall", _classified(requests["file"], classify, root)
    requests = requests.sort_values("start_ns", kind="stable", ignore_index=True)
    requests["seq"] = requests.index
    summary = {
        "tool": facts["tool"],
        "version": facts["version"],
        "started_ns": started_ns,
        "ended_ns": ended_ns,
        "lines": reading.lines,
        "requests": len(requests),
        "events": len(reading.calls) + (0 if reading.waits is None else len(reading.waits)),
        "lost_events": reading.lost + facts.get("lost_printed", 0),
        "rejected": len(reading.rejects),
        "rejects": reading.rejects,
        "unfinished": reading.unfinished,
        "cut_paths": reading.cut_paths,
        **left_out,
        "missing": facts.get("missing", []),
        "faults": facts.get("faults"),
    }
    return Capture(requests, waits, summary)


def _named(rows: pd.DataFrame, names: pd.DataFrame) -> "pd.Series[str]":
    """Returns the name of each row's thread when the row began; before its first name was seen, that one; empty if none was."""
    ordered = names.sort_values("ns", kind="stable")[["thread", "ns", "name"]]
    found = pd.merge_asof(
        rows[["thread", "start_ns"]].assign(row=rows.index).sort_values("start_ns"),
        ordered,
        left_on="start_ns",
        right_on="ns",
        by="thread",
    ).set_index("row")["name"]
    first = ordered.drop_duplicates("thread").set_index("thread")["name"]
    return found.reindex(rows.index).fillna(rows["thread"].map(first)).fillna("")


def _classified(files: "pd.Series[str]", classify: Callable[[str], str] | None, root: Path | None) -> "pd.Series[str]":
    below = f"{root}/" if root is not None else ""
    data = {file: classify(file) for file in files.dropna().unique() if file.startswith(below)} if classify else {}
    return files.map(data).fillna(OTHER)
