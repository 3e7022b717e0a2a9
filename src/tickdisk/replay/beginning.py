"""The files that must be in the target folder before the first request. They are inferred from the requests of the trace."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True)
class InitialFiles:
    """The files that a replay must find when it begins, as far as requests show them, by paths relative to the plan's root."""

    sizes: Mapping[str, int]
    """Files that exist, with the size in bytes that the reads of the trace need."""
    handles: Mapping[str, int]
    """Number of handles on each file that were open before the capture began."""
    missing: frozenset[str]
    """Files that do not exist, because the first open of each failed."""


@dataclass
class _Content:
    """The content of a file, as far as the trace shows it. A content can have several names in turn."""

    initial: str | None
    """Path before the first request, or None if the trace created the file."""
    is_certain: bool
    """Whether the file is known to exist. An open alone does not show it, because the open may have created the file."""
    size: int = 0
    needed: int = 0
    """Size in bytes that the file must have had before the first request."""
    is_cut: bool = False
    """Whether the file was truncated. Later reads then say nothing about its size before the first request."""


@dataclass
class _Walk:
    """The names, contents and handles of files at one point of the trace."""

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

    def content(self, path: str, *, is_certain: bool) -> _Content:
        """Returns the content that `path` names or last named. A path that is new to the walk named a file from the beginning."""
        content = self.names.get(path) or self.unnamed.get(path)
        if content is None:
            content = _Content(None if path in self.missing else path, is_certain)
            self.contents.append(content)
            self.names[path] = content
        return content

    def rename(self, path: str, other: str) -> None:
        content = self.content(path, is_certain=True)
        if other != path:
            self.name(other, content)
            self.name(path, None)

    def open(self, path: str, expected: int, *, cuts: bool) -> None:
        if expected < 0:
            if path not in self.names:
                self.missing.add(path)
            return
        if path in self.names and self.names[path] is None:
            content = _Content(None, is_certain=True)
            self.contents.append(content)
            self.names[path] = content
        content = self.content(path, is_certain=False)
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


def beginning(requests: pd.DataFrame, folders: frozenset[str]) -> InitialFiles:
    """Infers which files must exist before the first request of a plan, and how large. Paths that are `folders` are left out."""
    walk = _Walk()
    columns = (requests[name] for name in ("op", "file", "other", "offset", "length", "cuts", "expected"))
    for op, path, other, offset, length, cuts, expected in zip(*columns, strict=True):
        if op == "open":
            walk.open(path, expected, cuts=cuts)
        elif expected < 0:
            continue
        elif op == "unlink":
            walk.content(path, is_certain=True)
            walk.name(path, None)
        elif op == "rename":
            walk.rename(path, other)
        else:
            content = walk.use(path)
            if op == "close":
                walk.is_open[path] -= 1
            elif op == "truncate":
                content.size, content.is_cut = length, True
            elif op in ("read", "write") and expected > 0:
                end = offset + expected
                if op == "read" and end > content.size and not content.is_cut:
                    content.needed = max(content.needed, end)
                content.size = max(content.size, end)
    files = {
        content.initial: content.needed for content in walk.contents if content.initial and (content.is_certain or content.needed)
    }
    sizes = {path: size for path, size in files.items() if path not in folders}
    return InitialFiles(sizes, dict(walk.handles), frozenset(walk.missing))
