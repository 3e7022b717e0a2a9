"""The check of the files after a replay, whose names and sizes must be those that the captured calls leave."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation.paths import stored
from tickdisk.replay.changes import RENAME_EXCHANGE, is_unnamed, moves, resized
from tickdisk.replay.plan import ReplayPlan


@dataclass(frozen=True)
class Verified:
    """The files of the target folder after a replay, beside those that the calls of the capture leave in their captured order."""

    files: int
    """Number of files that there should be and were compared."""
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    sizes: Mapping[str, tuple[int, int]]
    """Size in bytes that is right and size that was found, by path, where they differ."""
    unsure: tuple[str, ...]
    """Files that were not compared, because the replay did not make a call that changed them."""
    is_whole: bool
    """Whether the capture has all calls, as far as it tells."""

    @property
    def is_right(self) -> bool:
        """Whether the names and sizes of all files that were compared are right."""
        return not (self.missing or self.unexpected or self.sizes)

    def sentence(self) -> str:
        """Returns the result in one sentence without its full stop."""
        calls = "the captured calls" if self.is_whole else "those calls that the capture has"
        right = [f"all {self.files} have the names and sizes that {calls} leave in their order"] if self.files else []
        parts = [
            *(f"{len(paths)} {how}, such as {paths[0]}" for how, paths in self._lists() if paths),
            *(
                f"{len(self.sizes)} of another size, such as {path} with {found:,} bytes instead of {right:,}"
                for path, (right, found) in list(self.sizes.items())[:1]
            ),
        ]
        unsure = [
            f"{len(self.unsure)} not compared, such as {path}, as calls that changed them are not made again"
            for path in self.unsure[:1]
        ]
        compared = right if self.is_right else [f"of {self.files}, {'; '.join(parts)}"]
        return "; ".join([*compared, *unsure]) or "none"

    def _lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("missing", self.missing), ("not expected", self.unexpected)


def verify(plan: ReplayPlan, target: Path, made: Mapping[str, int]) -> Verified:
    """Compares the files and folders in `target` after a replay with those that the calls of the capture leave in their order.

    `made` has the bytes of each file before the replay, by path. A file is not compared if a call that changed it is not made
    again. A folder is compared by its name, which ends in a slash here, and so is a symbolic link.
    """
    left = _left(plan, made)
    right = {f"{name}/" if content.is_folder else name: content.size for name, content in left.names.items()}
    found = {_named(path, target): path.stat().st_size if _is_plain(path) else None for path in target.rglob("*")}
    unsure = {name for name, content in left.names.items() if content.is_unsure} | left.unsure
    compared, there = right.keys() - unsure, found.keys() - unsure
    return Verified(
        files=sum(not name.endswith("/") for name in compared),
        missing=tuple(sorted(compared - found.keys())),
        unexpected=tuple(sorted(there - right.keys())),
        sizes={
            path: (size, was)
            for path in sorted(compared & there)
            if (size := right[path]) is not None and (was := found[path]) is not None and size != was
        },
        unsure=tuple(sorted(unsure)),
        is_whole=not plan.lacks,
    )


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _named(path: Path, target: Path) -> str:
    name = stored(os.fsencode(path.relative_to(target)))
    return f"{name}/" if path.is_dir() and not path.is_symlink() else name


@dataclass
class _Content:
    size: int | None
    """Size in bytes, or None for a folder or a symbolic link."""
    is_folder: bool = False
    is_unsure: bool = False
    """Whether a call has changed it that the replay does not make."""


class _Files:
    """The files by name, and the open handles by path. A request uses the handle that was opened last, or opens one."""

    def __init__(self, plan: ReplayPlan, made: Mapping[str, int]) -> None:
        self.names = {path: _Content(size) for path, size in made.items()}
        self.names |= {path: _Content(None, is_folder=True) for path in plan.beginning.folders if path != "."}
        self.unsure: set[str] = set()
        handles = plan.beginning.handles
        self._open = {path: [self.names[path]] * count for path, count in handles.items() if path in self.names}
        self._folders = plan.folders
        self._links = dict[str, str]()

    def open(self, path: str, flags: int, *, cuts: bool = False) -> None:
        content = _Content(0) if is_unnamed(flags) else self.names.setdefault(self._links.get(path, path), _Content(0))
        if cuts:
            content.size = 0
        self._open.setdefault(path, []).append(content)

    def used(self, path: str) -> _Content:
        if not self._open.get(path):
            self.open(path, 0)
        return self._open[path][-1]

    def call(self, op: str, path: str, other: str, flags: int) -> None:
        """Takes in a call that changes names."""
        if op in ("rename", "unlink"):
            self._links.pop(path, None)
        match op:
            case "close" if self._open.get(path):
                self._open[path].pop()
            case "rename" if path in self.names and path != other:
                moved = moves(self.names, path, other, self._folders, exchanges=bool(flags & RENAME_EXCHANGE))
                contents = {new: self.names.pop(old) for old, new in moved if old in self.names}
                self.names |= contents
            case "link":
                self.names[other] = self.names[path] if path in self.names else self.used(path)
            case "symlink" | "mkdir":
                self.names[path] = _Content(None, is_folder=op == "mkdir")
                self._links |= {path: other} if op == "symlink" else {}
            case "unlink" | "rmdir":
                self.names.pop(path, None)

    def doubt(self, paths: list[object]) -> None:
        """Takes in a call on these paths that the replay does not make."""
        for path in paths:
            if isinstance(path, str):
                self.unsure.add(path)
                for content in [*([self.names[path]] if path in self.names else []), *self._open.get(path, [])]:
                    content.is_unsure = True


def left_by(plan: ReplayPlan, made: Mapping[str, int]) -> dict[str, int]:
    """Returns the size in bytes of each file that the requests of a plan leave, by path, from the sizes before them in `made`."""
    return {path: content.size for path, content in _left(plan, made).names.items() if content.size is not None}


def _left(plan: ReplayPlan, made: Mapping[str, int]) -> _Files:
    files = _Files(plan, made)
    unmade: dict[int, list[object]] = {}
    for place, *paths in plan.unmade[["place", "file", "other"]].itertuples(index=False):
        unmade.setdefault(place, []).extend(paths)
    columns = ("op", "file", "other", "offset", "length", "flags", "cuts", "expected")
    requests = zip(*(plan.requests[name] for name in columns), strict=True)
    for place, (op, path, other, offset, length, flags, cuts, expected) in enumerate(requests):
        files.doubt(unmade.get(place, []))
        if expected < 0 or (path in plan.folders and op not in ("rename", "mkdir", "rmdir", "symlink")):
            continue
        if op == "open":
            files.open(path, flags, cuts=cuts)
        elif op in ("read", "write", "sync", "truncate", "fallocate"):
            _resize(files.used(path), op, offset, length, flags, expected)
        else:
            files.call(op, path, other, flags)
    files.doubt(unmade.get(len(plan.requests), []))
    return files


def _resize(content: _Content, op: str, offset: int, length: int, flags: int, expected: int) -> None:
    size = content.size or 0
    if op == "truncate":
        content.size = length
    elif op == "fallocate":
        content.size = resized(size, offset, length, flags)
    elif op == "write":
        content.size = max(size, offset + expected)
