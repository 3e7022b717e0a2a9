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
from tickdisk.trace.waits import settle_faults, wait_rows

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

    `clocks` are samples of the kernel's clocks (strace stamps CLOCK_REALTIME); `classify` gives the data type of files, of those
    below `root` if there is one: all others are `other`.

    The summary: tool, version, started_ns, ended_ns, lines (of the raw text), requests, events (requests and waits that
    arrived), lost_events (that did not), rejected with the `rejects` (lines that do not parse), unfinished (requests that had
    not ended), cut_paths, not_files (calls on sockets, pipes and the like), other_processes (requests of processes that only
    started the traced ones), offsets_unknown, files_unknown, not_followed (calls by name that may touch files unseen), missing
    (tracepoints that this kernel lacks) and faults (the tracepoint that tells page faults).
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
    names = reading.of("thread")[["thread", "ns", "text"]]
    waits = wait_rows(reading, followed, started_ns) if bpf else None
    if waits is not None:
        requests = settle_faults(requests, waits)
        waits["end_ns"] = waits["end_ns"].where(waits["end_ns"] > 0, ended_ns)
        waits = waits[(waits["start_ns"] >= started_ns) & (waits["end_ns"] <= ended_ns)].reset_index(drop=True)
        waits["thread_name"] = _named(waits, names)
    requests["thread_name"] = _named(requests, names)
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
    found = pd.merge_asof(
        rows[["thread", "start_ns"]].assign(row=rows.index).sort_values("start_ns"),
        names,
        left_on="start_ns",
        right_on="ns",
        by="thread",
    ).set_index("row")["text"]
    first = names.drop_duplicates("thread").set_index("thread")["text"]
    return found.reindex(rows.index).astype(object).fillna(rows["thread"].map(first).astype(object)).fillna("")


def _classified(files: "pd.Series[str]", classify: Callable[[str], str] | None, root: Path | None) -> "pd.Series[str]":
    below = f"{root}/" if root is not None else ""
    data = {file: classify(file) for file in files.dropna().unique() if file.startswith(below)} if classify else {}
    return files.map(lambda file: data.get(file, OTHER))
