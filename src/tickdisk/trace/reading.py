"""What the readers of both tools give: calls and the events that following descriptors needs, still in the tool's clock."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

Integers = npt.NDArray[np.int64]
CALL_COLUMNS = ("number", "process", "thread", "start_ns", "end_ns", "result", "x", "y", "z")
"""The system call's number (FAULT: a page fault), who made it and when, what it returned, and its three arguments of `calls.Call`."""
WAIT_COLUMNS = ("thread", "start_ns", "end_ns", "woken_ns", "state", "number", "fd", "call_ns", "waker", "waker_number")
"""A time off the processor: woken_ns is 0 when nobody was seen waking it, call_ns 0 when no system call was under way."""
_TIMES = {"ns", "start_ns", "end_ns", "woken_ns", "call_ns"}


@dataclass(frozen=True)
class Event:
    """Something rare that changes what descriptors mean: newtask (a child, b flags) or exec (a device, b inode, text path)."""

    kind: str
    ns: int
    process: int
    thread: int
    a: int
    b: int
    text: str = ""


@dataclass
class Reading:
    """Rows in the order of their start. `names` has process, thread, ns, name; `inodes` process, ns, fd, device, inode."""

    calls: pd.DataFrame
    events: list[Event]
    names: pd.DataFrame
    inodes: pd.DataFrame
    births: dict[int, int] = field(default_factory=dict)
    """Start of a process since boot in ns, by which a process of the snapshot is found under the tracer's number for it."""
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
        for table in (self.calls, self.names, self.inodes, *([] if self.waits is None else [self.waits])):
            for column in _TIMES.intersection(table.columns):
                times = table[column].to_numpy(np.int64)
                table[column] = np.where(times > 0, clock(times), 0)
        events = clock(np.array([event.ns for event in self.events], dtype=np.int64))
        self.events = [replace(event, ns=int(ns)) for event, ns in zip(self.events, events, strict=True)]


def frame(columns: tuple[str, ...], rows: Integers) -> pd.DataFrame:
    """Returns integer columns from an array of rows."""
    return pd.DataFrame(rows.reshape(-1, len(columns)), columns=list(columns))


def text(raw: bytes) -> str:
    """Returns a path or a name; what is not UTF-8 is replaced, since tables hold UTF-8."""
    return raw.decode("utf-8", errors="replace")
