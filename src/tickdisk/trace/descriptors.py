"""Finds the file that each descriptor stands for at each time, from the descriptors at the beginning of the capture
(`tickdisk.trace.snapshot`) and the calls of open, dup, close, fork and exec from there on.
"""

import os
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tickdisk.trace.calls import (
    AT_FDCWD,
    CALLS,
    CLONE_THREAD,
    CLOSE_RANGE_CLOEXEC,
    F_DUPFD_CLOEXEC,
    F_SETFD,
    F_SETFL,
    O_CLOEXEC,
    Call,
)
from tickdisk.trace.reading import RareEvent, Reading

_TICK_NS = 10_000_000
"""Length of the clock ticks in which /proc states times. For user space they are always hundredths of a second."""
_BY_NUMBER = {call.number: name for name, call in CALLS.items()}
_CHANGING = {CALLS[name].number for name in ("close", "close_range", "dup", "dup2", "dup3", "fcntl", "fchdir")}
_AT_START = {CALLS[name].number for name in ("close", "close_range")}
"""Calls that take effect when they begin, because another thread can get the same descriptor while the call still runs."""
_DESCRIPTORS = "/proc/self/fd/"
CLOSED = -1
"""Stands in place of an open file for a descriptor that is not a file's."""


@dataclass(frozen=True)
class Opened:
    """A file that a captured process opened (an open file description), which several descriptors can share."""

    path: str
    """Absolute path of the file when it was opened."""
    flags: int
    """Flags of open(2), such as O_APPEND."""
    position: int = 0
    """Position in bytes from a snapshot, or 0 for a file that was opened during the capture."""
    size: int | None = None
    """Size of the file in bytes from a snapshot, or None for a file that was opened during the capture."""


@dataclass
class _Process:
    root: str = "/"
    cwd: str | None = None
    table: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """For each descriptor, the index of its open file and whether exec closes it."""


class _Change(NamedTuple):
    process: int
    fd: int
    ns: int
    opened: int


@dataclass
class FileHistory:
    """The files that the captured processes had open, and the file that each captured call used."""

    opened: list[Opened]
    """Every open file of the capture. The other fields name an open file by its index in this list."""
    of: "pd.Series[int]"
    """For each call, the index in `opened` of the file of its descriptor. It is CLOSED if the descriptor was not a file's."""
    paths: "pd.Series[str]"
    """For each call that names its file by a path, the absolute path."""
    renamed: "pd.Series[str]"
    """For each call with a second path, the absolute form of it, if its folder is known."""
    since: dict[int, int]
    """For each captured process, by its number, the time in ns from which its calls count. It is 0 if the process ran when the
    capture began. A process that only starts captured ones is not in it."""
    changes: pd.DataFrame
    """process, fd, ns, opened: from the time `ns`, the descriptor `fd` of the process stands for the open file `opened`."""
    snapshots: dict[int, dict[str, Any]]
    """The snapshots, by the number that the tool gives to their process."""

    def at(self, frame: pd.DataFrame, fd: str, ns: str) -> "pd.Series[int]":
        """Returns the open file of each row's descriptor just before the row's time, as an index in `opened` or CLOSED.

        `fd` and `ns` name the columns of `frame` for descriptor and time, beside its column process. Rows are sorted by time.
        """
        keys = frame[["process", fd, ns]].rename(columns={fd: "fd", ns: "at"})
        changes = pd.merge_asof(keys, self.changes, left_on="at", right_on="ns", by=["process", "fd"], allow_exact_matches=False)
        return pd.Series(changes["opened"].fillna(CLOSED).astype(np.int64).to_numpy(), index=frame.index)


def follow(reading: Reading, snapshots: Iterable[dict[str, Any]]) -> FileHistory:
    """Finds for every captured call the open file that its descriptor stood for.

    `snapshots` has a snapshot (`snapshot.snapshot`) of each process that ran when the capture began. bpftrace may number
    processes in another process namespace, so they are matched with snapshots by the time of their start.
    """
    follower = _Follower()
    numbers = _match_snapshots(reading, list(snapshots))
    calls = reading.calls
    # The arguments of these calls are not lengths and offsets, but flags, commands and other descriptors.
    rare = calls[calls["number"].isin(_CHANGING) | calls["path"].notna()].rename(columns={"length": "second", "offset": "third"})
    for process, snapshot in numbers.items():
        follower.begin(process, snapshot, rare)
    for _, step in sorted(_steps(rare, reading.events), key=lambda timed_step: timed_step[0]):
        follower.event(step) if isinstance(step, RareEvent) else follower.call(step)
    changes = pd.DataFrame(follower.changes, columns=_Change._fields).astype(np.int64).sort_values("ns", kind="stable")
    followed = FileHistory(
        follower.opened,
        pd.Series(CLOSED, index=calls.index, dtype=np.int64),
        pd.Series(follower.paths, dtype=object).reindex(calls.index),
        pd.Series(follower.renamed, dtype=object).reindex(calls.index),
        follower.since,
        changes,
        numbers,
    )
    followed.of = followed.at(calls, "fd", "start_ns")
    return followed


def _match_snapshots(reading: Reading, snapshots: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    started = {snapshot["started"]: snapshot for snapshot in snapshots}
    births = [(event.process, event.born_ns // _TICK_NS) for event in reading.events if event.kind == "thread" and event.born_ns]
    matched = {process: started[tick] for process, tick in births if tick in started}
    unseen = [snapshot for snapshot in snapshots if snapshot not in matched.values()]
    born = {event.child for event in reading.events if event.kind == "newtask"} | {
        event.process for event in reading.events if event.kind == "exec"
    }
    seen = pd.concat([reading.calls["process"], reading.faults["process"]])
    unknown_processes = set(map(int, seen.unique())) - born - matched.keys()
    if len(unseen) == len(unknown_processes) == 1:
        # The process never left its core, so bpftrace did not print its start. Only one snapshot is left for it.
        matched[unknown_processes.pop()] = unseen[0]
    return matched


def _steps(rare: pd.DataFrame, events: list[RareEvent]) -> Iterator[tuple[int, Any]]:
    row: Any
    for row in rare.itertuples():
        yield (row.start_ns if row.number in _AT_START else row.end_ns), row
    for event in events:
        if event.kind in ("newtask", "exec"):
            yield event.ns, event


class _Follower:
    def __init__(self) -> None:
        self.opened: list[Opened] = []
        self.changes: list[_Change] = []
        self.paths: dict[int, str] = {}
        self.renamed: dict[int, str] = {}
        self.since: dict[int, int] = {}
        self._processes: dict[int, _Process] = {}
        self._unnamed = 0

    def begin(self, process: int, snapshot: dict[str, Any], rare: pd.DataFrame) -> None:
        """Takes in a process of a snapshot, without the descriptors that captured calls opened or closed before it."""
        self.since[process] = 0
        state = self._processes[process] = _Process(snapshot["root"], snapshot["cwd"])
        before = rare[(rare["process"] == process) & (rare["end_ns"] < snapshot["at_ns"])]
        opening = before["number"].map(_BY_NUMBER).map(lambda name: CALLS[name].op in ("open", "dup"))
        touched = set(before.loc[opening, "result"]) | set(before.loc[before["number"].isin(_AT_START), "fd"])
        for name, (path, flags, position, size) in snapshot["files"].items():
            if int(name) not in touched:
                opened = self._open(Opened(path, flags, position, size))
                self._set(process, state, int(name), 0, (opened, bool(flags & O_CLOEXEC)))

    def event(self, event: RareEvent) -> None:
        """Takes in a new process, which has its parent's descriptors, or a new program, for which exec closes some of them."""
        if event.kind == "newtask":
            parent = self._processes.get(event.process)
            if parent is not None and not event.clone_flags & CLONE_THREAD:
                self.since[event.child] = event.ns
                child = self._processes[event.child] = _Process(parent.root, parent.cwd)
                for fd, entry in parent.table.items():
                    self._set(event.child, child, fd, event.ns, entry)
        elif event.process not in self._processes:
            self.since[event.process] = event.ns
            self._processes[event.process] = _Process()
        else:
            state = self._processes[event.process]
            for fd in [fd for fd, (_, closes) in state.table.items() if closes]:
                self._close(event.process, state, fd, event.ns)

    def call(self, row: Any) -> None:
        """Takes in a call that opens, closes or copies a descriptor, changes the folder, or names a path."""
        state = self._processes.get(row.process)
        if state is None:
            return
        name = _BY_NUMBER[row.number]
        call = CALLS[name]
        if call.path is not None:
            self._by_path(row, state, call, name)
        elif name == "close":
            self._close(row.process, state, row.fd, row.start_ns)
        elif name == "close_range" and row.result == 0:
            for fd in [fd for fd in state.table if row.fd <= fd <= row.second & 0xFFFFFFFF]:
                if row.third & CLOSE_RANGE_CLOEXEC:
                    state.table[fd] = (state.table[fd][0], True)
                else:
                    self._close(row.process, state, fd, row.start_ns)
        elif name == "fchdir" and row.result == 0:
            state.cwd = self._folder(state, row.fd)
        elif row.result >= 0 and row.fd in state.table:
            self._duplicate(row, state, name)
        elif row.result >= 0 and name in ("dup", "dup2", "dup3"):
            # The copied descriptor is not a file's, so from now on the number of the copy stands for a socket or the like.
            self._close(row.process, state, row.result, row.end_ns)

    def _by_path(self, row: Any, state: _Process, call: Call, name: str) -> None:
        path = self._path(state, row.fd if call.fd is not None else AT_FDCWD, row.path)
        if call.op == "symlink" and path is not None:
            renamed = _absolute(state, posixpath.dirname(path), row.to if isinstance(row.to, str) else "")
        else:
            # The folder's descriptor is an argument of 32 bits.
            folder = (row.third + (1 << 31)) % (1 << 32) - (1 << 31) if call.offset is not None else AT_FDCWD
            renamed = self._path(state, folder, row.to) if isinstance(row.to, str) and row.to else None
        if renamed is not None:
            self.renamed[row.Index] = renamed
        if path is None:
            return
        if call.op == "open" and row.result >= 0 and row.second & os.O_TMPFILE == os.O_TMPFILE and call.length is not None:
            self._unnamed += 1
            path = f"{path}/#unnamed-{self._unnamed}"
        self.paths[row.Index] = path
        if name == "chdir" and row.result == 0:
            state.cwd = path
        elif call.op == "open" and row.result >= 0:
            flags = row.second if call.length is not None else 0
            opened = self._open(Opened(path, flags))
            self._set(row.process, state, row.result, row.end_ns, (opened, bool(flags & O_CLOEXEC)))

    def _duplicate(self, row: Any, state: _Process, name: str) -> None:
        opened, closes = state.table[row.fd]
        if name == "fcntl" and row.second == F_SETFD:
            state.table[row.fd] = (opened, bool(row.third & 1))
        elif name == "fcntl" and row.second == F_SETFL:
            self._set_flags(opened, row.third, row.end_ns)
        elif row.result != row.fd:
            closes = (name == "dup3" and bool(row.third & O_CLOEXEC)) or (name == "fcntl" and row.second == F_DUPFD_CLOEXEC)
            self._set(row.process, state, row.result, row.end_ns, (opened, closes))

    def _set_flags(self, opened: int, flags: int, ns: int) -> None:
        """Takes in F_SETFL, of which only O_DIRECT matters here. Linux leaves O_DSYNC and O_SYNC as they were.

        The open file counts as another one from then on, for all descriptors that share it.
        """
        before = self.opened[opened]
        if not (before.flags ^ flags) & os.O_DIRECT:
            return
        changed = self._open(replace(before, flags=before.flags ^ os.O_DIRECT))
        for process, state in self._processes.items():
            for fd, (shared, closes) in list(state.table.items()):
                if shared == opened:
                    self._set(process, state, fd, ns, (changed, closes))

    def _path(self, state: _Process, fd: int, path: str) -> str | None:
        """Returns the absolute form of a path that is relative to the folder of a descriptor, or that stands for a descriptor."""
        if not path and fd != AT_FDCWD:
            return self._folder(state, fd)
        if path.startswith(_DESCRIPTORS) and path.removeprefix(_DESCRIPTORS).isdigit():
            return self._folder(state, int(path.removeprefix(_DESCRIPTORS))) or path
        return _absolute(state, state.cwd if fd == AT_FDCWD else self._folder(state, fd), path)

    def _folder(self, state: _Process, fd: int) -> str | None:
        return self.opened[state.table[fd][0]].path if fd in state.table else None

    def _open(self, opened: Opened) -> int:
        self.opened.append(opened)
        return len(self.opened) - 1

    def _set(self, process: int, state: _Process, fd: int, ns: int, entry: tuple[int, bool]) -> None:
        state.table[fd] = entry
        self.changes.append(_Change(process, fd, ns, entry[0]))

    def _close(self, process: int, state: _Process, fd: int, ns: int) -> None:
        if state.table.pop(fd, None) is not None:
            self.changes.append(_Change(process, fd, ns, CLOSED))


def _absolute(state: _Process, folder: str | None, path: str) -> str | None:
    """Returns the absolute form of a path that is relative to a folder, or None if it is empty or the folder is not known."""
    base = state.root if path.startswith("/") else folder
    return posixpath.normpath(f"{base}/{path}").replace("//", "/", 1) if base is not None and path else None
