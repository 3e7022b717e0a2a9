"""The form into which the output of bpftrace is read: calls, page faults, waits, and rare events."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.foundation import paths

Integers = npt.NDArray[np.int64]
CALL_COLUMNS = ("number", "process", "thread", "start_ns", "end_ns", "result", "fd", "length", "offset")
"""Columns of a call: its number, its process and thread, its start and end, its result, and three arguments.

The arguments are those at the positions `fd`, `length` and `offset` of `calls.Call`. For calls at the position of the open file,
`offset` is this position after the call. For calls that copy bytes, `fd` is the source, and `length` and `offset` are the places
in source and target after the call.
"""
FAULT_COLUMNS = ("process", "thread", "start_ns", "call_ns", "device", "inode", "offset")
"""Columns of a page fault on a file: its process and thread, its time, the start of the thread's last call, or 0 if there is
none, device and inode of the file, and the offset of the page in it.
"""
WAIT_COLUMNS = ("thread", "start_ns", "end_ns", "woken_ns", "state", "number", "fd", "call_ns", "waker", "waker_number")
"""Columns of an interval in which a thread did not run.

`number`, `fd` and `call_ns` are the number, the first argument and the start of the thread's last call. If no call was under way,
call_ns is 0. If no wake-up was captured, woken_ns is 0. `waker_number` is the call in which the thread `waker` was.
"""
_TIMES = {"start_ns", "end_ns", "woken_ns", "call_ns"}


class RareEvent(NamedTuple):
    """A rare event of a capture, which names a thread or a file, or tells when a thread or a program begins or ends.

    `ns` is its time, and `process` and `thread` are the numbers of the thread in which it happened. The fields from `text` on are
    0 or empty if the `kind` of the event does not have them, or if they are not known.

    - thread: `text` is the thread's name, and `born_ns` the start of its process in ns since boot.
    - newtask: `child` is the number of the new thread, and `clone_flags` has the flags of clone.
    - end: The thread has ended.
    - exec: `device` and `inode` are those of the new program, and `text` is its path.
    - inode: `fd` is a descriptor that mmap maps, and `device` and `inode` are those of its file.
    - path, to: `text` is the first or the second path of the call that ends.
    """

    kind: str
    process: int
    thread: int
    ns: int
    text: str = ""
    born_ns: int = 0
    child: int = 0
    clone_flags: int = 0
    fd: int = 0
    device: int = 0
    inode: int = 0


EVENT_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "thread": ("born_ns",),
    "newtask": ("child", "clone_flags"),
    "exec": ("device", "inode"),
    "inode": ("fd", "device", "inode"),
}
"""For each kind of events, the fields of `RareEvent` for the numbers in its line of bpftrace's output, in their order."""


@dataclass
class Reading:
    """The content of bpftrace's output, from which the tables of a capture are made."""

    calls: pd.DataFrame
    """CALL_COLUMNS, `flags` (those of preadv2 and pwritev2, the mode of a fallocate, the target of a copy, else 0), and `path`
    and `to` (the second path) as text or None, in the order of start."""
    faults: pd.DataFrame
    """FAULT_COLUMNS, in the order of start."""
    waits: pd.DataFrame
    """WAIT_COLUMNS and waker_name, in the order of start."""
    events: list[RareEvent]
    """Rare events, in no special order. `of` selects them by kind and sorts them by time."""
    lost: int = 0
    """Number of calls, faults and waits that did not arrive."""
    unfinished: int = 0
    """Number of captured calls that were under way at the end, or that the kernel will restart."""
    rejects: list[str] = field(default_factory=list)
    lines: int = 0
    cut_paths: int = 0
    """Number of paths that the tool cut off because they were too long. Their files are named by the part that arrived."""
    ring_others: int = 0
    """Number of requests to io_uring of operations that are not in `RING_CALLS`."""

    def convert(self, clock: Callable[[Integers], Integers]) -> None:
        """Converts all times, in ns, to another clock. A time of 0 means that there is none, and is not changed."""
        for table in (self.calls, self.faults, self.waits):
            for column in _TIMES.intersection(table.columns):
                times = table[column].to_numpy(np.int64)
                table[column] = np.where(times > 0, clock(times), 0)
        times = np.array([event.ns for event in self.events], dtype=np.int64)
        converted = np.where(times > 0, clock(times), 0).tolist()
        self.events = [event._replace(ns=ns) for event, ns in zip(self.events, converted, strict=True)]

    def in_call(self, rows: pd.DataFrame) -> "pd.Series[bool]":
        """Returns whether the last call of the thread still ran when a fault or a wait began.

        `rows` has the columns thread, start_ns and call_ns. A call without a row in `calls` had not ended.
        """
        last = pd.MultiIndex.from_frame(rows[["thread", "call_ns"]])
        ended_ns = self.calls.set_index(["thread", "start_ns"])["end_ns"].reindex(last).to_numpy()
        return (rows["call_ns"] > 0) & ~(ended_ns < rows["start_ns"])

    def of(self, kind: str) -> pd.DataFrame:
        """Returns the events of one kind in the order of their times, with a column for each field."""
        events = [event for event in self.events if event.kind == kind]
        table = pd.DataFrame(events, columns=list(RareEvent._fields)).sort_values("ns", kind="stable", ignore_index=True)
        return table.astype(dict.fromkeys((name for name in RareEvent._fields if name not in ("kind", "text")), np.int64))


def frame(columns: tuple[str, ...], rows: Integers) -> pd.DataFrame:
    """Returns a table with integer columns from an array of rows."""
    return pd.DataFrame(rows.reshape(-1, len(columns)), columns=list(columns))


def text(raw: bytes) -> str:
    """Decodes a path or a name as tables store it."""
    return paths.stored(raw)
