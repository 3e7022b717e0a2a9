"""Prepares the tables of a figure that shows a stretch of time: threads, their calls on files, and the disk's requests.

Every row of the figure is cut into columns, so that the tables stay small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.blame.attribute import Blame
from tickdisk.blame.lanes import Integers, Intervals
from tickdisk.blame.links import JOURNAL
from tickdisk.blame.requests import FilesOnDevice
from tickdisk.foundation.waiting import TimeKind

_BEHIND_LOCK = "storage behind a lock"
STATES = (
    TimeKind.RUNNING.words,
    TimeKind.IO.words,
    _BEHIND_LOCK,
    TimeKind.LOCK.words,
    TimeKind.RUN_QUEUE.words,
    TimeKind.SLEEP.words,
)
_STATE_OF = {kind: kind.words for kind in (TimeKind.IO, TimeKind.LOCK, TimeKind.RUN_QUEUE, TimeKind.SLEEP)}
_COLUMNS = 600
"""Number of columns of the figure. In each column, a row shows the value that takes most of the column's time."""
_MOST_THREADS, _MOST_FILES = 5, 5
OTHER_FILES = "other files"
"""Stands in place of a file that is not among the most used files."""


@dataclass(frozen=True)
class Stretch:
    """The tables of a figure that shows what the threads, their calls and the disk did in a stretch of time.

    Times are in seconds since the first tick of the blame.
    """

    ticks: pd.DataFrame
    """tick, start_s, end_s, state (one of STATES), low_ms, high_ms: the parts of each gap, stacked from low_ms to high_ms."""
    states: pd.DataFrame
    """row (the thread), state, start_s, end_s: the states of the threads."""
    calls: pd.DataFrame
    """row (the thread), file, start_s, end_s: the system calls on files that were under way."""
    service: pd.DataFrame
    """row (`disk reads`, or `disk writes` for all others), file, start_s, end_s: the requests in the device."""
    saves_s: tuple[float, ...]
    """Time of the first sync of the tick thread in each tick that saved."""
    stalls: pd.DataFrame
    """kind, start_s, end_s: the injected stalls."""
    span_s: tuple[float, float]


def stretch(blame: Blame, start_ns: int, end_ns: int) -> Stretch:
    """Prepares the tables of a figure of the time [start_ns, end_ns), which is in ns of CLOCK_MONOTONIC."""
    evidence = blame.evidence
    zero = int(blame.ticks["start_ns"].iloc[0])
    drawn = _TimeWindow(zero, start_ns, end_ns)
    ticks = blame.ticks[(blame.ticks["start_ns"] < end_ns) & (blame.ticks["start_ns"] + blame.ticks["gap_ns"] > start_ns)]
    requests = drawn.inside(evidence.requests.assign(end_ns=evidence.requests["start_ns"] + evidence.requests["latency_ns"]))
    requests = requests[requests["file"].notna()]
    waits = drawn.inside(evidence.waits)
    threads = _threads(blame, waits, requests)
    requests = requests[requests["thread_name"].isin(threads)]
    device = _device(blame, drawn)
    files = _busiest_files(pd.concat([requests, device]))
    states = [drawn.rows(name, _covers(blame, waits, name), rest=TimeKind.RUNNING.words) for name in threads]
    calls = [drawn.rows(name, _by_file(requests[requests["thread_name"] == name], files)) for name in threads]
    service = [drawn.rows(str(name), _by_file(answered, files)) for name, answered in device.groupby("row")]
    synced = requests[(requests["op"] == "sync") & (requests["thread_name"] == blame.thread_name)]
    which = np.searchsorted(ticks["start_ns"], synced["start_ns"], side="right")
    stalls = pd.DataFrame(columns=["kind", "start_ns", "end_ns"]) if evidence.injections is None else evidence.injections
    return Stretch(
        _stacked(ticks, drawn),
        pd.concat(states, ignore_index=True).rename(columns={"value": "state"}),
        pd.concat(calls, ignore_index=True).rename(columns={"value": "file"}),
        pd.concat([*service, drawn.rows("", {})], ignore_index=True).rename(columns={"value": "file"}),
        tuple(drawn.seconds(synced.groupby(which)["start_ns"].min().to_numpy(np.int64)).tolist()),
        drawn.clipped(drawn.inside(stalls))[["kind", "start_s", "end_s"]],
        (float(drawn.seconds(start_ns)), float(drawn.seconds(end_ns))),
    )


@dataclass(frozen=True)
class _TimeWindow:
    """A stretch of time in ns, which makes columns of a figure, in seconds since `zero_ns`, of the rows that overlap it."""

    zero_ns: int
    start_ns: int
    end_ns: int

    def seconds(self, at_ns: Integers | int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        return (np.asarray(at_ns) - self.zero_ns) / 1e9

    def inside(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[(table["start_ns"] < self.end_ns) & (table["end_ns"] > self.start_ns)]

    def clipped(self, table: pd.DataFrame) -> pd.DataFrame:
        start, end = table["start_ns"].clip(lower=self.start_ns), table["end_ns"].clip(upper=self.end_ns)
        return table.assign(start_s=self.seconds(start.to_numpy(np.int64)), end_s=self.seconds(end.to_numpy(np.int64)))

    def rows(self, row: str, covers: Mapping[str | None, Intervals], rest: str | None = None) -> pd.DataFrame:
        """Returns a row of the figure as row, value, start_s, end_s, where `value` is the one that covers most of a column.

        The time that nothing covers has the value `rest`. Intervals with the value None are left out.
        """
        edges = np.linspace(self.start_ns, self.end_ns, _COLUMNS + 1).astype(np.int64)
        names = [*covers, rest]
        shares = np.column_stack(
            [np.zeros(_COLUMNS, np.int64), *(cover.within(edges[:-1], edges[1:]) for cover in covers.values())]
        )
        shares[:, 0] = np.diff(edges) - shares.sum(axis=1) if rest is not None else 0
        value = np.where(shares.any(axis=1), shares.argmax(axis=1), 0) - 1
        first = np.flatnonzero(np.concatenate([[True], np.diff(value) != 0]))
        last = np.append(first[1:], _COLUMNS)
        table = pd.DataFrame(
            {
                "row": row,
                "value": [names[number] for number in value[first]],
                "start_s": self.seconds(edges[first]),
                "end_s": self.seconds(edges[last]),
            }
        )
        return table.dropna(subset=["value"])


def _covers(blame: Blame, waits: pd.DataFrame, name: str) -> dict[str | None, Intervals]:
    """Returns the times of each state of a thread. Storage behind the locks of the tick thread is a state of its own."""
    if name != blame.thread_name:
        of_thread = waits[waits["thread_name"] == name]
        covers: dict[str | None, Intervals] = {
            state: Intervals.of_rows(of_thread[of_thread["kind"] == kind]) for kind, state in _STATE_OF.items()
        }
        # If several threads have this name, one may be absent while another runs, so their absence is not shown.
        return covers | (
            {None: Intervals.of_rows(of_thread[of_thread["kind"] == TimeKind.ABSENT])}
            if len(set(of_thread["thread"])) == 1
            else {}
        )
    links, direct = blame.links, blame.links["depth"] == 0
    covers = {
        state: Intervals.of_rows(links[(direct | (kind == TimeKind.SLEEP)) & (links["kind"] == kind)])
        for kind, state in _STATE_OF.items()
    }
    behind = Intervals.of_rows(links[~direct & (links["kind"] == TimeKind.IO)])
    locks = covers[TimeKind.LOCK.words].without(behind).without(covers[TimeKind.SLEEP.words])
    return covers | {_BEHIND_LOCK: behind, TimeKind.LOCK.words: locks}


def _threads(blame: Blame, waits: pd.DataFrame, requests: pd.DataFrame) -> list[str]:
    """Returns the tick thread, followed by the threads that waited longest for storage or had the longest calls."""
    io = waits[waits["kind"] == TimeKind.IO]
    longest = pd.concat([io, requests])[["thread_name", "start_ns", "end_ns"]]
    total = (
        (longest["end_ns"] - longest["start_ns"]).groupby(longest["thread_name"]).sum().drop(blame.thread_name, errors="ignore")
    )
    return [blame.thread_name, *sorted(total.nlargest(_MOST_THREADS - 1).index)]


def _device(blame: Blame, drawn: _TimeWindow) -> pd.DataFrame:
    """Returns row, file, start_ns, end_ns of the device's requests in the stretch."""
    device, extents = blame.evidence.device, blame.evidence.extents
    if device is None or extents is None:
        return pd.DataFrame(columns=["row", "file", "start_ns", "end_ns"])
    device = drawn.inside(device.rename(columns={"arrival_ns": "start_ns", "replied_ns": "end_ns"})).reset_index(drop=True)
    files = FilesOnDevice.of(device, extents)
    names = [min(files.files(row), default=JOURNAL) for row in range(len(device))]
    rows = np.where(device["op"] == "read", "disk reads", "disk writes")
    return device[["start_ns", "end_ns"]].assign(row=rows, file=names)


def _busiest_files(table: pd.DataFrame) -> list[str]:
    """Returns the files with the longest total time of requests."""
    total = (table["end_ns"] - table["start_ns"]).groupby(table["file"]).sum()
    return [str(name) for name in total.astype("int64").nlargest(_MOST_FILES).index]


def _by_file(table: pd.DataFrame, files: Sequence[str]) -> dict[str | None, Intervals]:
    shown = table["file"].where(table["file"].isin(files), OTHER_FILES).map(lambda path: Path(path).name)
    return {str(name): Intervals.of_rows(rows) for name, rows in table.groupby(shown)}


def _stacked(ticks: pd.DataFrame, drawn: _TimeWindow) -> pd.DataFrame:
    """Returns the split of each gap, stacked in the order of STATES."""
    parts = [
        ticks["running_ns"],
        ticks["io_ns"],
        ticks["lock_storage_ns"],
        ticks["lock_ns"] - ticks["lock_storage_ns"] + ticks["pause_ns"],
        ticks["run_queue_ns"],
        ticks["sleep_ns"],
    ]
    high = np.cumsum(np.column_stack(parts), axis=1)
    low = high - np.column_stack(parts)
    start = ticks["start_ns"].to_numpy(np.int64)
    table = pd.DataFrame(
        {
            "tick": np.repeat(ticks["tick"], len(STATES)),
            "start_s": np.repeat(drawn.seconds(start), len(STATES)),
            "end_s": np.repeat(drawn.seconds(start + ticks["gap_ns"].to_numpy(np.int64)), len(STATES)),
            "state": np.tile(STATES, len(ticks)),
            "low_ms": low.ravel() / 1e6,
            "high_ms": high.ravel() / 1e6,
        }
    )
    return table[table["high_ms"] > table["low_ms"]].reset_index(drop=True)
