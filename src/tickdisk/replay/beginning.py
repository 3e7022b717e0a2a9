"""The files that must be in the target folder before the first request. They are inferred from the requests of the trace."""

import errno
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from tickdisk.replay.changes import COLLAPSE, INSERT, RENAME_EXCHANGE, ROOT, is_unnamed, moves, resized


@dataclass(frozen=True)
class InitialFiles:
    """The files that a replay must find when it begins, as far as requests show them, by paths relative to the plan's root."""

    sizes: Mapping[str, int]
    """Files that exist, with the size in bytes that the reads of the trace need."""
    handles: Mapping[str, int]
    """Number of handles on each file that were open before the capture began."""
    missing: frozenset[str]
    """Files that do not exist, because the first open of each failed."""
    folders: frozenset[str]
    """Folders that exist."""


@dataclass
class _Content:
    """The content of a file, as far as the trace shows it, or a folder. A content can have several names."""

    initial: str | None
    """Path before the first request, or None if the trace created the file."""
    is_certain: bool
    """Whether the file is known to exist. An open alone does not show it, because the open may have created the file."""
    is_folder: bool = False
    size: int = 0
    needed: int = 0
    """Size in bytes that the file must have had before the first request."""
    is_cut: bool = False
    """Whether the file was truncated. Later reads then say nothing about its size before the first request."""

    def need(self, size: int) -> None:
        if size > self.size and not self.is_cut:
            self.needed = max(self.needed, size)
        self.size = max(self.size, size)


@dataclass
class _Walk:
    """The names, contents and handles of files at one point of the trace."""

    folders: frozenset[str]
    names: dict[str, _Content | None] = field(default_factory=dict)
    unnamed: dict[str, _Content] = field(default_factory=dict)
    """The last content that a path named, for requests to a file that is open and has no name any more."""
    contents: list[_Content] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    is_open: Counter[str] = field(default_factory=Counter)
    handles: Counter[str] = field(default_factory=Counter)

    def name(self, path: str, content: _Content | None) -> None:
        before = self.names.get(path)
        if before is not None:
            self.unnamed[path] = before
        self.names[path] = content

    def make(self, path: str, *, is_folder: bool = False) -> None:
        """Takes in that the trace makes a file or a folder."""
        self.folder_of(path)
        content = _Content(None, is_certain=True, is_folder=is_folder)
        self.contents.append(content)
        self.name(path, content)

    def content(self, path: str, *, is_certain: bool) -> _Content:
        """Returns the content that `path` names or last named. A path that is new to the walk named a file from the beginning."""
        content = self.names.get(path) or self.unnamed.get(path) or (self.folder_of(ROOT) if path == ROOT else None)
        if content is None:
            initial = None if path in self.missing else self.initial(path)
            content = _Content(initial, is_certain, is_folder=path in self.folders)
            self.contents.append(content)
            self.names[path] = content
        return content

    def initial(self, path: str) -> str | None:
        """Returns the path of a file at the beginning, as its folder may have been renamed since, or None if that is new."""
        folder = self.folder_of(path)
        return None if folder.initial is None else str(Path(folder.initial, Path(path).name))

    def folder_of(self, path: str) -> _Content:
        """Returns the folder that a file is in. It is there from the beginning, unless the trace has made it."""
        folder = str(Path(path).parent)
        content = self.names.get(folder)
        if content is None:
            is_new = folder in self.names or folder in self.missing
            initial = ROOT if folder == ROOT else None if is_new else self.initial(folder)
            content = self.names[folder] = _Content(initial, is_certain=True, is_folder=True)
            self.contents.append(content)
        return content

    def rename(self, path: str, other: str, *, exchanges: bool) -> None:
        self.content(path, is_certain=True)
        self.folder_of(other)
        if exchanges:
            self.content(other, is_certain=True)
        moved = moves(self.names, path, other, self.folders, exchanges=exchanges)
        contents = [self.names[old] for old, _ in moved]
        for old, _ in moved:
            self.name(old, None)
        for (_, new), content in zip(moved, contents, strict=True):
            self.name(new, content)

    def open(self, path: str, expected: int, *, cuts: bool) -> None:
        if expected < 0:
            if path not in self.names:
                self.missing.add(path)
            return
        if path in self.names and self.names[path] is None:
            self.make(path)
        content = self.content(path, is_certain=path in self.folders)
        if cuts:
            content.size, content.is_cut = 0, True
        self.opened.add(path)
        self.is_open[path] += 1

    def use(self, path: str) -> _Content:
        """Returns the content behind a handle. The handle was open before the capture if the trace never opened the file."""
        content = self.content(path, is_certain=True)
        if self.is_open[path] == 0:
            self.is_open[path] = 1
            if content.initial == path and path not in self.opened:
                self.handles[path] += 1
        return content

    def call(self, op: str, path: str, other: str, offset: int, length: int, flags: int, expected: int) -> None:
        """Takes in a call that is neither an open nor has failed."""
        match op:
            case "unlink" | "rmdir":
                self.content(path, is_certain=True)
                self.name(path, None)
            case "rename":
                if path != other:
                    self.rename(path, other, exchanges=bool(flags & RENAME_EXCHANGE))
            case "link":
                content = self.content(path, is_certain=True)
                self.folder_of(other)
                self.name(other, content)
            case "mkdir" | "symlink":
                self.make(path, is_folder=op == "mkdir")
            case _:
                self.change(self.use(path), op, path, offset, length, flags, expected)

    def change(self, content: _Content, op: str, path: str, offset: int, length: int, flags: int, expected: int) -> None:
        """Takes in a call on an open file."""
        if op == "close":
            self.is_open[path] -= 1
        elif op == "truncate":
            content.size, content.is_cut = length, True
        elif op == "fallocate":
            content.need(offset + length if flags & COLLAPSE else offset if flags & INSERT else 0)
            content.size = resized(content.size, offset, length, flags)
            content.is_cut |= bool(flags & (COLLAPSE | INSERT))
        elif op == "read" and expected > 0:
            content.need(offset + expected)
        elif op == "write" and expected > 0:
            content.size = max(content.size, offset + expected)


def beginning(requests: pd.DataFrame, folders: frozenset[str]) -> InitialFiles:
    """Infers which files must exist before the first request of a plan, and how large. Paths that are `folders` are left out."""
    walk = _Walk(folders)
    columns = (requests[name] for name in ("op", "file", "other", "offset", "length", "flags", "cuts", "expected"))
    for op, path, other, offset, length, flags, cuts, expected in zip(*columns, strict=True):
        if op == "open" and is_unnamed(flags) and expected >= 0:
            walk.make(path)
            walk.is_open[path] += 1
        elif op == "open":
            walk.open(path, expected, cuts=cuts)
        elif expected >= 0:
            walk.call(op, path, other, offset, length, flags, expected)
        elif op == "mkdir" and expected == -errno.EEXIST:
            walk.content(path, is_certain=True)
    certain = {content.initial: content for content in walk.contents if content.is_certain or content.needed}
    initial = {path: content for path, content in certain.items() if path is not None}
    sizes = {path: content.needed for path, content in initial.items() if path not in folders}
    kept = frozenset({ROOT, *(path for path, content in initial.items() if content.is_folder)})
    return InitialFiles(sizes, dict(walk.handles), frozenset(walk.missing), kept)
