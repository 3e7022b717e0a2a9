"""Finds the system call during which a thread waited for storage, and the device's request that the call waited for."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.blame.lanes import NONE, Integers, Keys, spread
from tickdisk.foundation.storing import sync_of

READS = ("read", "fault", "mmap")
"""Kinds of requests that wait for reads of the device."""
_METADATA, _OWN_FILE, _OWN_BYTES = 1, 2, 3
"""Ranks by which a request of the device matches a wait. A higher rank is a better match, and 0 is none."""


def requests_of(waits: pd.DataFrame, requests: pd.DataFrame) -> Integers:
    """Returns for every wait the row of its thread's request that was under way when the wait began, or -1 if there is none.

    `waits` and `requests` have the columns of the tables of a capture, and a row is a position in `requests`, from 0. Requests of
    a thread may lie within each other, such as a page fault in a read. The innermost is returned.
    """
    begun = requests["start_ns"].to_numpy(np.int64)
    over = begun + requests["latency_ns"].to_numpy(np.int64)
    thread, at_ns = (waits[name].to_numpy(np.int64) for name in ("thread", "start_ns"))
    row = np.full(at_ns.shape, NONE)
    if not begun.size or not at_ns.size:
        return row
    threads, lane = np.unique(requests["thread"].to_numpy(np.int64), return_inverse=True)
    keys = Keys(min(int(begun.min()), int(at_ns.min())), int(max(over.max(), at_ns.max()) - min(begun.min(), at_ns.min())) + 1)
    order = np.lexsort((begun, lane))
    starts, ends = keys.of(lane[order], begun[order]), keys.of(lane[order], over[order])
    number = np.searchsorted(threads, thread).clip(max=threads.size - 1)
    key = keys.of(number, at_ns)
    last = np.searchsorted(starts, key, side="right") - 1
    # Faults that have ended may lie between a wait and the call to which the wait belongs, so the last three requests are tried.
    for back in (2, 1, 0):
        candidate = np.maximum(last - back, 0)
        under_way = (threads[number] == thread) & (starts[candidate] <= key) & (ends[candidate] > key)
        row = np.where(under_way, order[candidate], row)
    return row


@dataclass(frozen=True)
class FilesOnDevice:
    """The bytes of files that each request of the device reads or writes, which tell the file that a request belongs to.

    There is one row for each pair of a request and an extent that it touches, sorted by request and file.
    """

    names: tuple[str, ...]
    """Paths of the files. A file's number is its place in this list."""
    keys: Integers
    """Row of the device's request * number of files + number of the file."""
    start: Integers
    """First byte in the file that the request touches, same shape as `keys`."""
    end: Integers
    """End of the touched bytes in the file, same shape as `keys`."""

    @classmethod
    def of(cls, device: pd.DataFrame, extents: pd.DataFrame) -> "FilesOnDevice":
        """Finds the bytes that the requests of `device`, the device's log, touch in the files whose places are in `extents`.

        Space that several files had in turn belongs to all of them.
        """
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
        """Returns the paths of the files that a request of the device touches, which is given by its row in the device's log.

        If there are none, the request is for the journal or metadata of the file system.
        """
        first, last = np.searchsorted(self.keys, [row * len(self.names), (row + 1) * len(self.names)])
        return {self.names[key % len(self.names)] for key in self.keys[first:last].tolist()}

    def owned(self, rows: int) -> NDArray[np.bool_]:
        """Returns for each row of the device's log whether its request touches a file. The log has `rows` rows."""
        return np.bincount(self.keys // max(len(self.names), 1), minlength=rows) > 0

    def match(
        self, row: Integers, file: Integers, offset: Integers, end: Integers
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns whether each request of the device touches the file, and whether it touches bytes [offset, end) of the file.

        `row` has the rows of the requests in the device's log, and `file` the number of each file, or -1 if it is not known. All
        arrays have the same shape.
        """
        key = row * max(len(self.names), 1) + file
        pair, place = spread(np.searchsorted(self.keys, key), np.searchsorted(self.keys, key, side="right"))
        exact = (self.start[place] < end[pair]) & (self.end[place] > offset[pair])
        file_too, bytes_too = (np.bincount(pairs, minlength=row.size) > 0 for pairs in (pair, pair[exact]))
        return file_too & (file != NONE), bytes_too & (file != NONE)


def _merged(extents: pd.DataFrame, names: tuple[str, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yields (number of the file, physical - offset, start on the device, end on the device) for each merged extent.

    Extents are merged because a file that grows was recorded many times in the same place.
    """
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


@dataclass(frozen=True)
class MatchedRequests:
    """Pairs of a wait and a request of the device that it may have waited for. The three arrays have the same shape."""

    wait: Integers
    """Row of the wait."""
    request: Integers
    """Row of the request in the device's log."""
    rank: Integers
    """How well they match, from 1 on. A wait for a read is best explained by the requests with its highest rank."""
    together_ns: Integers
    """Time of the wait in which the request was in the device, in ns."""


def match_requests(waits: pd.DataFrame, device: pd.DataFrame, files: FilesOnDevice) -> MatchedRequests:
    """Finds the requests of the device that each wait may have waited for.

    `waits` has start_ns and end_ns, and of the request under way op, file, storing, offset and length (-1 if unknown).

    - A read waits for reads of its bytes, or of its file (read ahead), or of places outside every file (metadata).
    - A sync waits for all writes and flushes, whichever thread or file caused them, because it waits for the journal. A write
      that waits for the device (O_DSYNC, O_SYNC) does so, too.
    - Any other call waits for requests that touch its file or places outside every file.
    """
    arrival, replied = (device[name].to_numpy(np.int64) for name in ("arrival_ns", "replied_ns"))
    order = np.argsort(arrival, kind="stable")
    start_ns, end_ns = (waits[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    # All requests before `first` were answered before the wait began.
    first = np.searchsorted(np.maximum.accumulate(replied[order]), start_ns, side="right")
    wait, place = spread(first, np.searchsorted(arrival[order], end_ns))
    row = order[place]
    together = np.minimum(replied[row], end_ns[wait]) - np.maximum(arrival[row], start_ns[wait])
    wait, row, together = wait[together > 0], row[together > 0], together[together > 0]
    op, device_op = waits["op"].to_numpy()[wait], device["op"].to_numpy()[row]
    file = pd.Index(files.names, dtype=object).get_indexer(pd.Index(waits["file"]))
    offset = waits["offset"].to_numpy(np.int64)
    end = np.where((offset < 0) | (waits["length"].to_numpy(np.int64) < 0), NONE, offset + waits["length"].to_numpy(np.int64))
    same_file, same_bytes = files.match(row, file[wait], offset[wait], end[wait])
    rank = np.where(same_bytes, _OWN_BYTES, np.where(same_file, _OWN_FILE, np.where(files.owned(len(device))[row], 0, _METADATA)))
    rank = np.where(np.isin(op, READS) & (device_op != "read"), 0, rank)
    rank = np.where(op == "sync", np.where(device_op == "read", 0, _METADATA), rank)
    syncs = (waits["op"] == "write").to_numpy() & waits["storing"].map(sync_of).ne("").to_numpy()
    rank = np.where(syncs[wait] & (device_op != "read"), np.maximum(rank, _METADATA), rank)
    rank = np.where(op == "", 0, rank)
    return MatchedRequests(*(column[rank > 0] for column in (wait, row, rank, together)))


def device_requests_of(waits: pd.DataFrame, device: pd.DataFrame, files: FilesOnDevice) -> tuple[Integers, Integers]:
    """Returns for every wait the row of the device's request that it waited for (-1 if none), and the number of such requests.

    The arguments are those of `match_requests`. If several match, the best match is returned. Among equal matches it is the one
    that was in service for most of the wait.
    """
    found = match_requests(waits, device, files)
    best = np.full(len(waits), NONE)
    # If several rows are assigned to a wait, the last one stays, which is the best match.
    by = np.lexsort((found.together_ns, found.rank, found.wait))
    best[found.wait[by]] = found.request[by]
    return best, np.bincount(found.wait, minlength=len(waits))
