"""bpftrace's output to calls, waits and events; see `program` for its lines."""

import re

import numpy as np
import pandas as pd

from tickdisk.trace.program import TEXT_BYTES
from tickdisk.trace.reading import CALL_COLUMNS, WAIT_COLUMNS, Event, Integers, Reading, frame, text

_REQUEST = re.compile(rb"^@r[01]\[(\d+, \d+)\]: \((-?\d+(?:, -?\d+){6})\)$", re.MULTILINE)
_WAIT = re.compile(rb"^@w[01]\[(\d+, \d+)\]: \((-?\d+(?:, -?\d+){7}), (.*)\)$", re.MULTILINE)
_EVENT = re.compile(rb"^(path|to|thread|newtask|exec|inode|beat) (\d+) (\d+) (\d+)((?: -?\d+){3}) 0(?: (.*))?$", re.MULTILINE)
_UNDER_WAY = re.compile(rb"^@call\[(\d+)\]: \((\d+), (\d+)(?:, \d+){6}\)$", re.MULTILINE)
_OFF = re.compile(rb"^@off\[(\d+)\]: \((-?\d+(?:, -?\d+){4})\)$", re.MULTILINE)
_EVENTS = re.compile(rb"^@events: (\d+)$", re.MULTILINE)
_OTHER = re.compile(rb"@(?:woken|known|path|to)\[.*\]: .*|@(?:half|turned): \d+|@busy\[0\]: \d+|Attaching \d+ probes\.\.\.|")
_FREQUENT = (b"@r0[", b"@r1[", b"@w0[", b"@w1[")


def read_bpftrace(raw: bytes) -> Reading:
    """Returns what bpftrace wrote; lines that are none of the program's are in `rejects`."""
    requests = _rows([key + b"," + value for key, value in _REQUEST.findall(raw)], 9)
    # key: thread, start; value: number, process, end, result, x, y, z
    calls = frame(CALL_COLUMNS, requests[:, [2, 3, 0, 1, 4, 5, 6, 7, 8]])
    found = _WAIT.findall(raw)
    waits = _waits(found, _OFF.findall(raw))
    rare = pd.DataFrame(
        [
            (kind.decode(), int(process), int(thread), int(ns), *map(int, rest.split()), text(name))
            for kind, process, thread, ns, rest, name in _EVENT.findall(raw)
            if kind != b"beat"
        ],
        columns=["kind", "process", "thread", "ns", "a", "b", "c", "text"],
    )
    kept = calls.drop_duplicates(["thread", "start_ns"]).sort_values("start_ns", kind="stable", ignore_index=True)
    for name in ("path", "to"):
        kept[name] = _texts(kept, rare[rare["kind"] == name])
    counted = sum(map(int, _EVENTS.findall(raw)))
    threads = rare[rare["kind"] == "thread"]
    inodes = rare[rare["kind"] == "inode"]
    under_way = {(int(thread), int(start)) for thread, start, _ in _UNDER_WAY.findall(raw)}
    return Reading(
        calls=kept,
        events=[
            Event(row.kind, row.ns, row.process, row.thread, row.a, row.b, row.text)
            for row in rare[rare["kind"].isin(["newtask", "exec"])].itertuples(index=False)
        ],
        names=threads.rename(columns={"text": "name"})[["process", "thread", "ns", "name"]],
        inodes=inodes.rename(columns={"a": "fd", "b": "device", "c": "inode"})[["process", "ns", "fd", "device", "inode"]],
        births={int(row.process): int(row.a) for row in threads[threads["a"] > 0].itertuples(index=False)},
        waits=waits,
        lost=max(0, counted - len(kept) - int((waits["end_ns"] > 0).sum())),
        unfinished=len(under_way - set(zip(kept["thread"], kept["start_ns"], strict=True))),
        rejects=_rejects(raw, len(requests) + len(found)),
        lines=raw.count(b"\n"),
        cut_paths=int((rare["text"].str.len() >= TEXT_BYTES - 1).sum()),
    )


def _rows(lines: list[bytes], columns: int) -> Integers:
    return np.fromstring(b",".join(lines), dtype=np.int64, sep=",").reshape(-1, columns)


def _waits(found: list[tuple[bytes, bytes, bytes]], off: list[tuple[bytes, bytes]]) -> pd.DataFrame:
    """Waits that were under way at the end have end_ns 0."""
    # key: thread, out; value: in, woken, state, number, fd, call, waker, waker's number
    ended = _rows([key + b"," + value for key, value, _ in found], 10)
    # value: out, state, number, fd, call
    rest = _rows([thread + b"," + value for thread, value in off], 6)
    zero = np.zeros(len(rest), dtype=np.int64)
    open_ended = np.column_stack([rest[:, 0], rest[:, 1], zero, zero, rest[:, 2], rest[:, 3], rest[:, 4], rest[:, 5], zero, zero])
    waits = frame(WAIT_COLUMNS, np.concatenate([ended, open_ended]))
    waits["waker_name"] = [text(name) for _, _, name in found] + [""] * len(rest)
    return waits.drop_duplicates(["thread", "start_ns"]).sort_values("start_ns", kind="stable", ignore_index=True)


def _texts(calls: pd.DataFrame, lines: pd.DataFrame) -> "pd.Series[str]":
    """The text that was printed at the end of each call, None for calls without: it belongs to the last call that began before."""
    begun = calls[["thread", "start_ns"]].assign(row=calls.index)
    of = pd.merge_asof(
        lines.sort_values("ns"), begun, left_on="ns", right_on="start_ns", by="thread", allow_exact_matches=False
    ).dropna(subset=["row"])
    return pd.Series(of["text"].to_numpy(), index=of["row"].astype(np.int64)).groupby(level=0).last().reindex(calls.index)


def _rejects(raw: bytes, read: int) -> list[str]:
    """The lines that nothing read; frequent ones, of which `read` were, are looked through only when their number does not come out."""
    lines = raw.split(b"\n")
    frequent = [line for line in lines if line.startswith(_FREQUENT)]
    doubtful = [line for line in lines if not line.startswith(_FREQUENT)] + (frequent if len(frequent) != read else [])
    patterns = (_EVENT, _UNDER_WAY, _OFF, _EVENTS, _OTHER, _REQUEST, _WAIT)
    return [text(line) for line in doubtful if not any(pattern.fullmatch(line) for pattern in patterns)]
