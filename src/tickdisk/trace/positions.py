"""Finds the offsets of reads and writes that have no offset argument, for captures by strace.

It follows the position of each open file, and the size of each file, from call to call.
"""

from typing import Any

import pandas as pd

from tickdisk.trace.calls import CALLS, O_APPEND, O_EXCL, O_TRUNC, SEEK_END
from tickdisk.trace.descriptors import CLOSED, FileHistory

_OF = {call.number: call for call in CALLS.values()}
_CREAT, _SEEK = CALLS["creat"].number, CALLS["lseek"].number
_OPS = {"read", "write", "open", "seek", "truncate", "rename", "unlink"}


def follow_positions(calls: pd.DataFrame, followed: FileHistory, sizes: dict[str, int]) -> "pd.Series[int]":
    """Returns the offset in bytes of each read and write that has no offset argument, or null where it is not known.

    Such a call begins at the position of its open file, which strace does not tell. `calls` are those of a `Reading`, and the
    result has the same index. With O_APPEND a write goes to the end of the file, so the file's size is needed. The size is known
    from a snapshot, from O_TRUNC, O_EXCL or a truncate, or from a seek to the end. Otherwise it is the size at the end of the
    capture (`sizes`, by path) minus the bytes that were appended in between.
    """
    follower = _Follower(followed)
    rows = calls.assign(opened=followed.of).sort_values("end_ns", kind="stable")
    wanted = rows["number"].map(lambda number: number in _OF and _OF[number].op in _OPS)
    for row in rows[wanted & (rows["result"] >= 0)].itertuples():
        follower.take(row)
    for path, size in sizes.items():
        follower.know(path, size)
    return pd.Series(follower.offsets, dtype="Int64").reindex(calls.index)


class _Follower:
    """Follows positions and sizes through the successful calls, in the order of their ends.

    `_known` has the sizes that are known, by path. While a file's size is not known, `_appended` has the number of bytes appended
    so far, and `_since` has each append as its row and the number of bytes that were appended before it.
    """

    def __init__(self, followed: FileHistory) -> None:
        self.offsets: dict[int, int] = {}
        self._followed = followed
        self._position: dict[int, int | None] = {}
        self._known = {opened.path: opened.size for opened in followed.opened if opened.size is not None}
        self._appended: dict[str, int] = {}
        self._since: dict[str, list[tuple[int, int]]] = {}

    def take(self, row: Any) -> None:
        """Takes in one successful call."""
        call = _OF[row.number]
        path = self._followed.paths.get(row.Index)
        if call.op == "open":
            flags = O_TRUNC if row.number == _CREAT else row.y
            if flags & (O_TRUNC | O_EXCL):
                self._resize(path, 0)
        elif call.op in ("rename", "unlink"):
            self._resize(path, None)
        elif call.op == "truncate" and call.path is not None:
            self._resize(path, row.y)
        elif row.opened != CLOSED:
            self._on_file(row, row.opened, self._followed.opened[row.opened].path)

    def know(self, path: str, size: int) -> None:
        """Takes in the present size of a file, from which the offsets of earlier appends follow."""
        first = size - self._appended.pop(path, 0)
        self.offsets |= {index: first + after for index, after in self._since.pop(path, [])}
        self._known[path] = size

    def _on_file(self, row: Any, opened: int, path: str) -> None:
        call = _OF[row.number]
        if call.op == "truncate":
            self._resize(path, row.y)
        elif row.number == _SEEK:
            self._position[opened] = row.result
            if row.y == SEEK_END:
                self.know(path, row.result - row.z)
        elif not call.moves:
            if call.op == "write" and row.result:
                self._extend(path, row.z + row.result)
        elif call.op == "write" and row.result and self._appends(opened, row.start_ns):
            self._append(row, opened, path)
        else:
            position = self._position.get(opened, self._followed.opened[opened].position)
            if position is not None:
                self.offsets[row.Index] = position
                self._position[opened] = position + row.result
            if call.op == "write" and row.result:
                self._extend(path, None if position is None else position + row.result)

    def _append(self, row: Any, opened: int, path: str) -> None:
        if (size := self._known.get(path)) is not None:
            self.offsets[row.Index] = size
            self._known[path] = self._position[opened] = size + row.result
        else:
            before = self._appended.get(path, 0)
            self._since.setdefault(path, []).append((row.Index, before))
            self._appended[path] = before + row.result
            self._position[opened] = None

    def _appends(self, opened: int, ns: int) -> bool:
        switched = [on for at, on in self._followed.append.get(opened, []) if at < ns]
        return switched[-1] if switched else bool(self._followed.opened[opened].flags & O_APPEND)

    def _extend(self, path: str, end: int | None) -> None:
        """Takes in a write that ends at byte `end` (None if unknown) and may have made the file longer.

        If the write's end or the file's size is not known, the new size is not known either.
        """
        size = self._known.get(path)
        if size is not None and end is not None:
            self._known[path] = max(size, end)
        else:
            self._resize(path, None)

    def _resize(self, path: str | None, size: int | None) -> None:
        if path is not None:
            self._appended.pop(path, None)
            self._since.pop(path, None)
            self._known.pop(path, None)
            if size is not None:
                self._known[path] = size
