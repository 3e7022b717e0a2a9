"""What must be in the target folder before the first request: followed through the trace."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True)
class Beginning:
    """Files before the first request; paths are below the root."""

    sizes: Mapping[str, int]
    """Files that the trace finds there, with the bytes that its reads need."""
    handles: Mapping[str, int]
    """Handles on them that were open before the capture began."""
    missing: frozenset[str]
    """Files that the trace does not find there."""


@dataclass
class _Content:
    """A file as far as the trace tells: `initial` is the path that it had before the first request, None if the trace made it."""

    initial: str | None
    is_certain: bool
    """False while only an open has been seen, which may have made it."""
    size: int = 0
    needed: int = 0
    is_cut: bool = False
    """After a truncation what was there before does not show any more."""


@dataclass
class _Walk:
    names: dict[str, _Content | None] = field(default_factory=dict)
    unnamed: dict[str, _Content] = field(default_factory=dict)
    """The last file that a path named, for requests to what is open and has no name any more."""
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
        """The file that `path` names, or named; at first sight one that was there before the first request."""
        content = self.names.get(path) or self.unnamed.get(path)
        if content is None:
            content = _Content(None if path in self.missing else path, is_certain)
            self.contents.append(content)
            self.names[path] = content
        return content

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
        """A request through a handle: if the trace never opened one, it was open before; otherwise it is a copy of one (dup)."""
        content = self.content(path, is_certain=True)
        if self.is_open[path] == 0:
            self.is_open[path] = 1
            if content.initial == path and path not in self.opened:
                self.handles[path] += 1
        return content


def beginning(requests: pd.DataFrame, folders: frozenset[str]) -> Beginning:
    """Returns what the requests of a plan find before the first of them."""
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
            walk.name(other, walk.content(path, is_certain=True))
            walk.name(path, None)
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
    return Beginning(sizes, dict(walk.handles), frozenset(walk.missing))
