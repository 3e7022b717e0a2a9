"""Reads bpftrace's output into calls, page faults, waits and events. The template `capture.bt` describes the lines."""

import re

import numpy as np
import pandas as pd

from tickdisk.trace.calls import CALLS, RING_CALLS
from tickdisk.trace.program import FAULT, TEXT_BYTES
from tickdisk.trace.reading import (
    CALL_COLUMNS,
    EVENT_NUMBERS,
    FAULT_COLUMNS,
    WAIT_COLUMNS,
    Integers,
    RareEvent,
    Reading,
    frame,
    text,
)

_REQUEST = re.compile(rb"^@r[01]\[(\d+, \d+)\]: \((-?\d+(?:, -?\d+){6})\)$", re.MULTILINE)
_WAIT = re.compile(rb"^@w[01]\[(\d+, \d+)\]: \((-?\d+(?:, -?\d+){7}), (.*)\)$", re.MULTILINE)
_EVENT = re.compile(
    rb"^(path|to|thread|newtask|end|exec|inode|beat) (\d+) (\d+) (\d+) (-?\d+) (-?\d+) (-?\d+) 0(?: (.*))?$", re.MULTILINE
)
_UNDER_WAY = re.compile(rb"^@call\[(\d+)\]: \((\d+)(?:, \d+){7}\)$", re.MULTILINE)
_OFF = re.compile(rb"^@off\[(\d+)\]: \((-?\d+(?:, -?\d+){4})\)$", re.MULTILINE)
_EVENTS = re.compile(rb"^@events: (\d+)$", re.MULTILINE)
_RING = re.compile(rb"^@ring\[\d+\]: \(.*\)$", re.MULTILINE)
_APART = re.compile(rb"^@apart: (\d+)$", re.MULTILINE)
_OTHER = re.compile(rb"@(?:woken|known|path|to|busy)\[.*\]: .*|@(?:half|turned): \d+|Attaching \d+ probes\.\.\.|")
_FLAGGED = [call.number for call in (CALLS | RING_CALLS).values() if call.flags is not None or call.copies is not None]
_WITH_TEXT = {
    "path": [call.number for call in CALLS.values() if call.path is not None],
    "to": [call.number for call in CALLS.values() if call.to is not None],
}
"""For each kind of text that is printed at the end of a call, the numbers of the calls that have one."""
_HALF = 32
"""Number of bits of a descriptor, above which a call has its flags."""
_FREQUENT = (b"@r0[", b"@r1[", b"@w0[", b"@w1[")


def read_bpftrace(raw: bytes) -> Reading:
    """Reads bpftrace's output, as in `RawCapture.text`. Lines that the program cannot have printed are in `rejects`."""
    found_requests, found_waits = _REQUEST.findall(raw), _WAIT.findall(raw)
    # The key has thread and start. The value has number, process, end, result and three arguments. A page fault has FAULT as its
    # number, the start of the last call as its result, and device, inode and offset as its arguments.
    requests = _rows([key + b"," + value for key, value in found_requests], 9)
    is_fault = requests[:, 2] == FAULT
    calls = _in_order(frame(CALL_COLUMNS, requests[~is_fault][:, [2, 3, 0, 1, 4, 5, 6, 7, 8]]))
    faults = _in_order(frame(FAULT_COLUMNS, requests[is_fault][:, [3, 0, 1, 5, 6, 7, 8]]))
    waits = _waits(found_waits, _OFF.findall(raw))
    events = [_event(*groups) for groups in _EVENT.findall(raw) if groups[0] != b"beat"]
    reading = Reading(
        calls=calls,
        faults=faults,
        waits=waits,
        events=events,
        lost=max(0, sum(map(int, _EVENTS.findall(raw))) - len(calls) - len(faults) - int((waits["end_ns"] > 0).sum())),
        unfinished=len(set(map(_pair, _UNDER_WAY.findall(raw))) - set(zip(calls["thread"], calls["start_ns"], strict=True)))
        + len(_RING.findall(raw)),
        rejects=_rejects(raw, len(found_requests) + len(found_waits)),
        lines=raw.count(b"\n"),
        cut_paths=sum(len(event.text.encode()) >= TEXT_BYTES - 1 for event in events),
        ring_others=sum(map(int, _APART.findall(raw))),
    )
    words = calls["fd"].to_numpy(np.int64)
    calls["flags"] = np.where(calls["number"].isin(_FLAGGED), words >> _HALF, 0)
    calls["fd"] = words.astype(np.int32).astype(np.int64)
    for name, numbers in _WITH_TEXT.items():
        calls[name] = _texts(calls[calls["number"].isin(numbers)], reading.of(name)).reindex(calls.index)
    return reading


def _rows(lines: list[bytes], columns: int) -> Integers:
    return np.fromstring(b",".join(lines), dtype=np.int64, sep=",").reshape(-1, columns)


def _pair(words: tuple[bytes, bytes]) -> tuple[int, int]:
    return int(words[0]), int(words[1])


def _event(kind: bytes, process: bytes, thread: bytes, ns: bytes, *rest: bytes) -> RareEvent:
    word, numbers, name = kind.decode(), map(int, rest[:-1]), rest[-1]
    fields = dict(zip(EVENT_NUMBERS.get(word, ()), numbers, strict=False))
    return RareEvent(word, int(process), int(thread), int(ns), text(name), **fields)


def _waits(ended_waits: list[tuple[bytes, bytes, bytes]], open_waits: list[tuple[bytes, bytes]]) -> pd.DataFrame:
    """Returns the waits. A wait that was under way when the capture ended has end_ns 0."""
    # The key has thread and start. The value has end, wake-up, state, number of the call, its descriptor, its start, waker and
    # number of the waker's call.
    ended = _rows([key + b"," + value for key, value, _ in ended_waits], 10)
    # The value has start, state, number of the call, its descriptor and its start.
    rest = _rows([thread + b"," + value for thread, value in open_waits], 6)
    zero = np.zeros(len(rest), dtype=np.int64)
    open_ended = np.column_stack([rest[:, 0], rest[:, 1], zero, zero, rest[:, 2], rest[:, 3], rest[:, 4], rest[:, 5], zero, zero])
    waits = frame(WAIT_COLUMNS, np.concatenate([ended, open_ended]))
    waits["waker_name"] = [text(name) for _, _, name in ended_waits] + [""] * len(rest)
    return _in_order(waits)


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows in the order of their start, without those that bpftrace printed twice."""
    return rows.drop_duplicates(["thread", "start_ns"]).sort_values("start_ns", kind="stable", ignore_index=True)


def _texts(calls: pd.DataFrame, lines: pd.DataFrame) -> "pd.Series[str]":
    """Returns the text printed at the end of each of the calls that have one, or None where none arrived.

    A text belongs to its thread's last call before it. If the line of a call is lost, its text comes second for the call before.
    """
    begun = calls[["thread", "start_ns"]].assign(row=calls.index)
    of = pd.merge_asof(
        lines[["thread", "ns", "text"]], begun, left_on="ns", right_on="start_ns", by="thread", allow_exact_matches=False
    ).dropna(subset=["row"])
    return (
        pd.Series(of["text"].to_numpy(), index=of["row"].astype(np.int64), dtype=object)
        .groupby(level=0)
        .first()
        .reindex(calls.index)
    )


def _rejects(raw: bytes, read: int) -> list[str]:
    """Returns the lines that match no pattern. Lines of calls and waits are searched only if not all of them were `read`."""
    lines = raw.split(b"\n")
    frequent = [line for line in lines if line.startswith(_FREQUENT)]
    doubtful = [line for line in lines if not line.startswith(_FREQUENT)] + (frequent if len(frequent) != read else [])
    patterns = (_EVENT, _UNDER_WAY, _OFF, _EVENTS, _RING, _APART, _OTHER, _REQUEST, _WAIT)
    return [text(line) for line in doubtful if not any(pattern.fullmatch(line) for pattern in patterns)]
