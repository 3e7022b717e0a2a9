"""What the readers of both tools give: calls, waits, and the rare events without which descriptors and threads mean nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

Integers = npt.NDArray[np.int64]
CALL_COLUMNS = ("number", "process", "thread", "start_ns", "end_ns", "result", "x", "y", "z")
"""The system call's number (FAULT: a page fault), who made it and when, its result, and its three arguments of `calls.Call`."""
WAIT_COLUMNS = ("thread", "start_ns", "end_ns", "woken_ns", "state", "number", "fd", "call_ns", "waker", "waker_number")
"""A time off the processor: woken_ns is 0 when nobody was seen waking it, call_ns 0 when no system call was under way."""
_TIMES = {"start_ns", "end_ns", "woken_ns", "call_ns"}


class Event(NamedTuple):
    """Something rare: thread (text: its name; a: start of its process since boot in ns, if told), newtask (a: child, b: flags),
    end (of the thread), exec (a: device, b: inode, text: path) or inode (a: descriptor, b: device, c: inode).
    """

    kind: str
    process: int
    thread: int
    ns: int
    a: int = 0
    b: int = 0
    c: int = 0
    text: str = ""


@dataclass
class Reading:
    """Calls, with path and to (the second path) as text or None, and waits, both in the order of their start."""

    calls: pd.DataFrame
    events: list[Event]
    waits: pd.DataFrame | None = None
    lost: int = 0
    unfinished: int = 0
    """Captured calls that were under way at the end, or that the kernel will restart."""
    rejects: list[str] = field(default_factory=list)
    lines: int = 0
    cut_paths: int = 0
    """Paths longer than the tracer copies: their files go under the part of the name that arrived."""

    def convert(self, clock: Callable[[Integers], Integers]) -> None:
        """Takes all times over to another clock; 0, which stands for none, stays."""
        for table in [self.calls] if self.waits is None else [self.calls, self.waits]:
            for column in _TIMES.intersection(table.columns):
                times = table[column].to_numpy(np.int64)
                table[column] = np.where(times > 0, clock(times), 0)
        times = np.array([event.ns for event in self.events], dtype=np.int64)
        converted = np.where(times > 0, clock(times), 0).tolist()
        self.events = [event._replace(ns=ns) for event, ns in zip(self.events, converted, strict=True)]

    def of(self, kind: str) -> pd.DataFrame:
        """Returns the events of a kind in the order of their times, a column for each field."""
        found = [event for event in self.events if event.kind == kind]
        table = pd.DataFrame(found, columns=list(Event._fields)).sort_values("ns", kind="stable", ignore_index=True)
        return table.astype(dict.fromkeys(("process", "thread", "ns", "a", "b", "c"), np.int64))


def frame(columns: tuple[str, ...], rows: Integers) -> pd.DataFrame:
    """Returns integer columns from an array of rows."""
    return pd.DataFrame(rows.reshape(-1, len(columns)), columns=list(columns))


def text(raw: bytes) -> str:
    """Returns a path or a name; what is not UTF-8 is replaced, since tables hold UTF-8."""
    return raw.decode("utf-8", errors="replace")
