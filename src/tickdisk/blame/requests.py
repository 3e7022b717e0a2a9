"""From a wait to the system call that was under way, and from there to the device's request that it waited for."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.blame.lanes import NONE, Integers, Keys, spread

READS = ("read", "fault", "mmap")
"""Calls that wait for reads of the device."""
_METADATA, _OWN_FILE, _OWN_BYTES = 1, 2, 3


def requests_of(waits: pd.DataFrame, requests: pd.DataFrame) -> Integers:
    """Returns, for every wait, the row of the request of its thread that was under way when it began; -1 for none.

    Requests of a thread may lie within each other (a page fault in a read); the innermost is returned.
    """
    begun = requests["start_ns"].to_numpy(np.int64)
    over = begun + requests["latency_ns"].to_numpy(np.int64)
    thread, at_ns = (waits[name].to_numpy(np.int64) for name in ("thread", "start_ns"))
    found = np.full(at_ns.shape, NONE)
    if not begun.size or not at_ns.size:
        return found
    threads, lane = np.unique(requests["thread"].to_numpy(np.int64), return_inverse=True)
    keys = Keys(min(int(begun.min()), int(at_ns.min())), int(max(over.max(), at_ns.max()) - min(begun.min(), at_ns.min())) + 1)
    order = np.lexsort((begun, lane))
    starts, ends = keys.of(lane[order], begun[order]), keys.of(lane[order], over[order])
    own = np.searchsorted(threads, thread).clip(max=threads.size - 1)
    key = keys.of(own, at_ns)
    last = np.searchsorted(starts, key, side="right") - 1
    # A fault that is over may lie between a wait and the call that it belongs to.
    for back in (2, 1, 0):
        candidate = np.maximum(last - back, 0)
        under_way = (threads[own] == thread) & (starts[candidate] <= key) & (ends[candidate] > key)
        found = np.where(under_way, order[candidate], found)
    return found


@dataclass(frozen=True)
class FilesOnDevice:
    """Which bytes of which file each device request touches: one row a (device request, extent), sorted by request and file."""

    names: tuple[str, ...]
    keys: Integers
    """Device row * files + file."""
    start: Integers
    end: Integers
    """Bytes of the file, shapes as `keys`."""

    @classmethod
    def of(cls, device: pd.DataFrame, extents: pd.DataFrame) -> "FilesOnDevice":
        """Returns the map of all requests of `device`; space that changed hands belongs to all files that were seen there."""
        names = tuple(sorted(extents["file"].unique()))
        number, shift, begin, end = np.array(list(_merged(extents, names)), np.int64).reshape(-1, 4).T
        offset, length = device["offset"].to_numpy(np.int64), device["length"].to_numpy(np.int64)
        order = np.argsort(offset, kind="stable")
        first = np.searchsorted(offset[order], begin - int(length.max(initial=0)), side="right")
        extent, place = spread(first, np.searchsorted(offset[order], end))
        row = order[place]
        start = np.maximum(offset[row], begin[extent]) - shift[extent]
        finish = np.minimum(offset[row] + length[row], end[extent]) - shift[extent]
        keys = row * max(len(names), 1) + number[extent]
        sort = np.lexsort((start, keys))
        sort = sort[finish[sort] > start[sort]]
        return cls(names, keys[sort], start[sort], finish[sort])

    def files(self, row: int) -> set[str]:
        """Returns the files that a device request touches; none: the file system's journal or metadata."""
        first, last = np.searchsorted(self.keys, [row * len(self.names), (row + 1) * len(self.names)])
        return {self.names[key % len(self.names)] for key in self.keys[first:last].tolist()}

    def owned(self, rows: int) -> NDArray[np.bool_]:
        """Returns for each of the device's `rows` requests whether it touches a file."""
        return np.bincount(self.keys // max(len(self.names), 1), minlength=rows) > 0

    def match(
        self, row: Integers, file: Integers, offset: Integers, end: Integers
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns whether each device row touches the file (its number, -1: none), and whether it touches bytes [offset, end)."""
        key = row * max(len(self.names), 1) + file
        pair, place = spread(np.searchsorted(self.keys, key), np.searchsorted(self.keys, key, side="right"))
        exact = (self.start[place] < end[pair]) & (self.end[place] > offset[pair])
        own, bytes_too = (np.bincount(found, minlength=row.size) > 0 for found in (pair, pair[exact]))
        return own & (file != NONE), bytes_too & (file != NONE)


def _merged(extents: pd.DataFrame, names: tuple[str, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yields (file, physical - offset, begin, end on the device); a growing file was seen many times in the same place."""
    numbers = {name: number for number, name in enumerate(names)}
    rows = extents.assign(shift=extents["physical"] - extents["offset"], number=extents["file"].map(numbers))
    last = (NONE, 0, 0, 0)
    for number, shift, begin, length in rows.sort_values(["number", "shift", "physical"])[
        ["number", "shift", "physical", "length"]
    ].itertuples(index=False):
        if last[:2] == (number, shift) and begin <= last[3]:
            last = (number, shift, last[2], max(last[3], begin + length))
            continue
        if last[0] != NONE:
            yield last
        last = (number, shift, begin, begin + length)
    if last[0] != NONE:
        yield last


def device_requests_of(waits: pd.DataFrame, device: pd.DataFrame, files: FilesOnDevice) -> tuple[Integers, Integers]:
    """Returns, for every wait, the row of the device's request that it waited for (-1: none), and how many there were.

    `waits`: start_ns, end_ns, op, file, offset, length of the request under way (offset or length -1: unknown). A read waits for
    reads of its bytes, else of its file (read ahead), else of what is in no file (metadata); a sync for all writes and flushes,
    whoever issued them, because it waits for the journal; any other call for what touches its file or no file. Of several the
    best match, then the one that was longest in service during the wait.
    """
    arrival, replied = (device[name].to_numpy(np.int64) for name in ("arrival_ns", "replied_ns"))
    order = np.argsort(arrival, kind="stable")
    start_ns, end_ns = (waits[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    # Before the first of these every request was answered before the wait began.
    first = np.searchsorted(np.maximum.accumulate(replied[order]), start_ns, side="right")
    wait, place = spread(first, np.searchsorted(arrival[order], end_ns))
    row = order[place]
    together = np.minimum(replied[row], end_ns[wait]) - np.maximum(arrival[row], start_ns[wait])
    wait, row, together = wait[together > 0], row[together > 0], together[together > 0]
    op, device_op = waits["op"].to_numpy()[wait], device["op"].to_numpy()[row]
    file = pd.Index(files.names, dtype=object).get_indexer(pd.Index(waits["file"]))
    offset = waits["offset"].to_numpy(np.int64)
    end = np.where((offset < 0) | (waits["length"].to_numpy(np.int64) < 0), NONE, offset + waits["length"].to_numpy(np.int64))
    own, exact = files.match(row, file[wait], offset[wait], end[wait])
    rank = np.where(exact, _OWN_BYTES, np.where(own, _OWN_FILE, np.where(files.owned(len(device))[row], 0, _METADATA)))
    rank = np.where(np.isin(op, READS) & (device_op != "read"), 0, rank)
    rank = np.where(op == "sync", np.where(device_op == "read", 0, _METADATA), rank)
    rank = np.where(op == "", 0, rank)
    wait, row, together, rank = (column[rank > 0] for column in (wait, row, together, rank))
    best = np.full(start_ns.shape, NONE)
    # The last assignment to a wait stays.
    by = np.lexsort((together, rank, wait))
    best[wait[by]] = row[by]
    return best, np.bincount(wait, minlength=start_ns.size)
