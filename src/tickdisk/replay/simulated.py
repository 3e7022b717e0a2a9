"""The simulation of a replay: a page cache and a device model compute the times of the requests, without a device."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tickdisk import device
from tickdisk.foundation.storing import BUFFERED, is_direct, sync_of
from tickdisk.replay.changes import COLLAPSE, INSERT, KEEP_SIZE, RENAME_EXCHANGE, moves, resized
from tickdisk.replay.issue import timed
from tickdisk.replay.log import ReplayResult
from tickdisk.replay.plan import ReplayPlan
from tickdisk.replay.schedule import Schedule, Turns, turns_of
from tickdisk.replay.timing import Integers

PAGE = 4096
_READ, _WRITE, _FLUSH = (device.OPS.index(op) for op in ("read", "write", "flush"))
_WHOLE = ("sync", "syncfs")
_DATA_ONLY = ("fdatasync",)
"""Syncs that leave changed times of a file to a later commit of the journal."""
_JOURNALED, _COMMIT = 4 * PAGE, PAGE
"""Numbers of bytes that a commit of the journal writes: first its descriptor with the metadata, then its record."""
_SPACE = 1 << 20
"""Alignment of files on the device, in bytes. Files lie one after another."""
Request = tuple[int, int, int]
"""A request to the device: the index of its operation in `device.OPS`, its offset and its length in bytes."""
_CACHED = ("expected", "op", "call", "file", "other", "offset", "flags", "storing")
"""Columns of a plan that the page cache needs to know."""


@dataclass
class _File:
    """The place of a file on the device, and its pages in the page cache."""

    base: int
    """Offset of the file on the device, in bytes."""
    size: int
    cached: set[int] = field(default_factory=set)
    dirty: set[int] = field(default_factory=set)
    is_written: bool = False
    """Whether the times of the file have changed since the last commit."""
    is_grown: bool = False
    """Whether the size of the file has changed since the last commit, or the file is new."""


class PageCache:
    """A page cache over a file system with a journal. The cache is cold at first and never full.

    Only first reads, direct requests and syncs reach the device. A write that waits for the device (O_DSYNC, O_SYNC) is a write
    and a sync of what it wrote, fdatasync or fsync. A sync writes the file's data. If the file was changed in a way that the sync
    must keep (its size for fdatasync, and also its times for fsync), the journal is committed: its blocks are written and
    flushed, then its record is written and flushed. A commit has all changes of all files. Otherwise the sync only flushes.
    Unlike the kernel, the cache reads nothing ahead, and writes nothing before a sync, where the kernel writes after 30 s.
    """

    def __init__(self, reach: dict[str, int], sizes: Mapping[str, int], folders: Collection[str] = ()) -> None:
        """Begins cold. `reach` has the largest offset at which a file is used, and `sizes` its first size, by path."""
        self._reach, self._sizes, self._folders, self._files, self._end = reach, dict(sizes), folders, dict[str, _File](), 0
        self._journal = sum(reach.values()) // 2 // PAGE * PAGE
        self._names_changed = False

    def requests(
        self, op: str, call: str, file: str, other: str, offset: int, length: int, flags: int = 0, storing: str = BUFFERED
    ) -> list[list[Request]]:
        """Returns the requests to the device that a call makes, in steps that begin when the step before is completed.

        A step without requests takes no time. `other` is the new name of a rename or a link, `offset` and `length` are in bytes,
        and `flags` are those of a rename or a fallocate. `storing` says how a read or a write asks to be stored
        (`foundation.storing`).
        """
        match op:
            case "read" if is_direct(storing) and length:
                read = self._file(file)
                return [*_written_back(read, offset, length), [(_READ, read.base + offset, length)]]
            case "read":
                return [list(self._read(self._file(file), offset, length))]
            case "write" if length:
                return self._write(self._file(file), offset, length, storing) or [[]]
            case "sync":
                return self._sync(call, file)
            case "truncate":
                kept = self._file(file)
                last = -(-length // PAGE)
                kept.cached, kept.dirty = ({page for page in pages if page < last} for pages in (kept.cached, kept.dirty))
                kept.size, kept.is_grown = length, True
            case "fallocate":
                self._allocate(self._file(file), offset, length, flags)
            case "link":
                self._files[other] = self._file(file)
                self._names_changed = True
            case "mkdir" | "rmdir" | "symlink" | "unlink":
                self._files.pop(file, None)
                self._sizes.pop(file, None)
                self._names_changed = True
            case "rename" if file != other:
                self._rename(file, other, flags)
        return [[]]

    def _allocate(self, file: _File, offset: int, length: int, mode: int) -> None:
        """Takes in a fallocate. Pages whose place changes, or that become zeros, are not in the cache any more."""
        if mode & ~KEEP_SIZE:
            end = offset + length if not mode & (COLLAPSE | INSERT) else max(file.size, offset + length)
            gone = set(_pages(offset, end - offset))
            file.cached, file.dirty = file.cached - gone, file.dirty - gone
        file.size, file.is_grown = resized(file.size, offset, length, mode), True

    def _rename(self, path: str, other: str, flags: int) -> None:
        exchanges = bool(flags & RENAME_EXCHANGE)
        if path not in self._folders:
            self._file(path)
        moved = moves([*self._files, *self._sizes], path, other, self._folders, exchanges=exchanges)
        self._files |= {new: self._files.pop(old) for old, new in moved if old in self._files}
        self._sizes |= {new: self._sizes.pop(old) for old, new in moved if old in self._sizes}
        self._names_changed = True

    def _write(self, written: _File, offset: int, length: int, storing: str) -> list[list[Request]]:
        pages, steps = set(_pages(offset, length)), list[list[Request]]()
        if is_direct(storing):
            steps = [*_written_back(written, offset, length), [(_WRITE, written.base + offset, length)]]
            written.cached -= pages
        else:
            written.cached |= pages
            written.dirty |= pages
        written.is_written = True
        written.is_grown |= offset + length > written.size
        written.size = max(written.size, offset + length)
        if sync := sync_of(storing):
            steps += [*_written_back(written, offset, length), *self._committed(sync, [written], names=False)]
        return steps

    def _sync(self, call: str, file: str) -> list[list[Request]]:
        is_of_names = call in _WHOLE or file in self._folders
        files = list(self._files.values()) if call in _WHOLE else [] if file in self._folders else [self._file(file)]
        data = [request for each in files for request in _write_back(each, each.dirty)]
        return [*([data] if data else []), *self._committed(call, files, names=is_of_names)]

    def _committed(self, call: str, files: Iterable[_File], *, names: bool) -> list[list[Request]]:
        """Returns the steps in which a sync, whose data are written, commits the journal if it must, and flushes."""
        must_keep = any(each.is_grown or (each.is_written and call not in _DATA_ONLY) for each in files)
        steps: list[list[Request]] = []
        if must_keep or (self._names_changed and names):
            steps += [[(_WRITE, self._journal, _JOURNALED)], [(_FLUSH, 0, 0)], [(_WRITE, self._journal + _JOURNALED, _COMMIT)]]
            for each in self._files.values():
                each.is_written = each.is_grown = False
            self._names_changed = False
        return [*steps, [(_FLUSH, 0, 0)]]

    def _read(self, file: _File, offset: int, length: int) -> Iterator[Request]:
        missing = set(_pages(offset, length)) - file.cached
        file.cached |= missing
        return ((_READ, file.base + first * PAGE, count * PAGE) for first, count in _runs(missing))

    def _file(self, name: str) -> _File:
        if name not in self._files:
            is_new = name not in self._sizes
            self._files[name] = _File(self._end, self._sizes.get(name, 0), is_grown=is_new)
            self._names_changed |= is_new
            self._end += -(-self._reach.get(name, 0) // _SPACE) * _SPACE
        return self._files[name]


def _pages(offset: int, length: int) -> range:
    return range(offset // PAGE, -(-(offset + length) // PAGE)) if length > 0 else range(0)


def _write_back(file: _File, pages: set[int]) -> Iterator[Request]:
    dirty, file.dirty = file.dirty & pages, file.dirty - pages
    return ((_WRITE, file.base + first * PAGE, count * PAGE) for first, count in _runs(dirty))


def _written_back(file: _File, offset: int, length: int) -> list[list[Request]]:
    """Returns the step, if there is one, that writes the part of a file from the page cache to the device."""
    step = list(_write_back(file, set(_pages(offset, length))))
    return [step] if step else []


def _runs(pages: set[int]) -> Iterator[tuple[int, int]]:
    """Yields the first page and the number of pages of each run of neighbouring pages."""
    ordered = np.array(sorted(pages), np.int64)
    for run in np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1):
        if len(run):
            yield int(run[0]), len(run)


def issue_simulated(plan: ReplayPlan, model: device.DeviceModel, *, schedule: Schedule | None = None) -> ReplayResult:
    """Computes the times of a plan's requests on a device model, as `issue` would measure them without a lag of its own.

    Times count from 0. Calls that the page cache answers take no time. The content of the page cache follows the captured order
    of the requests. Results are as captured. Raises TickdiskError if the device model cannot be simulated with these requests, or
    the schedule needs what the trace does not have.
    """
    requests = plan.requests
    moved = requests["expected"].where(requests["op"].isin(["read", "write"]), requests["length"])
    reach = (requests["offset"] + moved.clip(lower=0)).groupby(requests["file"]).max()
    cache = PageCache({str(name): int(size) for name, size in reach.items()}, plan.beginning.sizes, plan.folders)
    turns = turns_of(plan, schedule or Schedule())
    steps: list[tuple[int, list[Request]]] = []
    # An open that empties its file does to the cache what a truncation does. Its length is 0.
    told = requests.assign(op=requests["op"].mask(requests["cuts"], "truncate"), storing=requests["storing"].fillna(BUFFERED))
    columns = [told[name].tolist() for name in _CACHED]
    calls = zip(*columns, moved.tolist(), strict=True)
    for number, (expected, op, call, file, other, offset, flags, storing, length) in enumerate(calls):
        asked = [[]] if expected < 0 else cache.requests(op, call, file, other, offset, length, flags, storing)
        steps += [(number, step) for step in asked]
    owner = np.array([number for number, _ in steps], np.int64)
    ops, offsets, lengths = np.array([request for _, step in steps for request in step], np.int64).reshape(-1, 3).T
    first, after = (np.searchsorted(owner, np.arange(len(requests)), side) for side in ("left", "right"))
    counted = _steps(turns, owner, first, after, np.array([len(step) for _, step in steps]))
    issued, completed = device.simulate_streams(model, counted, ops, offsets, lengths, is_closed=turns.is_closed)
    made = requests.assign(issued_ns=issued[first], completed_ns=completed[after - 1], result=requests["expected"])
    return ReplayResult(timed(made, turns, 0), is_real_time=False, is_simulated=True)


def _steps(turns: Turns, owner: Integers, first: Integers, after: Integers, requests: Integers) -> device.Steps:
    """Returns the steps of all calls. `first` and `after` have for each call its first step and the one after its last."""
    is_first = np.arange(len(owner)) == first[owner]
    due_ns = turns.due_ns[owner] if not turns.is_closed else np.where(is_first, turns.due_ns[owner], 0)
    # A need counts calls of a stream here, and steps of the stream there.
    order = np.argsort(turns.streams, kind="stable")
    steps_up_to = np.cumsum((after - first)[order])
    begin = np.searchsorted(turns.streams[order], turns.needs["stream"])
    before = np.where(begin > 0, steps_up_to[begin - 1], 0)
    needs = turns.needs.copy()
    needs["request"] = first[needs["request"]]
    needs["count"] = steps_up_to[begin + turns.needs["count"].astype(np.int64) - 1] - before
    return device.Steps(turns.streams[owner], due_ns, requests, needs.tobytes())
