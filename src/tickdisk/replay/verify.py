"""The check of the files after a replay, whose names and sizes must be those that its requests leave in their captured order."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation.paths import stored
from tickdisk.replay.plan import ReplayPlan


@dataclass(frozen=True)
class Verified:
    """The files of the target folder after a replay, beside those that its requests leave in their captured order."""

    files: int
    """Number of files that there should be."""
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    sizes: Mapping[str, tuple[int, int]]
    """Size in bytes that is right and size that was found, by path, where they differ."""

    @property
    def is_right(self) -> bool:
        """Whether all names and sizes are right."""
        return not (self.missing or self.unexpected or self.sizes)

    def sentence(self) -> str:
        """Returns the result in one sentence without its full stop."""
        if self.is_right:
            return f"all {self.files} have the names and sizes that these requests leave in their captured order"
        parts = [
            *(f"{len(paths)} {how}, such as {paths[0]}" for how, paths in self._lists() if paths),
            *(
                f"{len(self.sizes)} of another size, such as {path} with {found:,} bytes instead of {right:,}"
                for path, (right, found) in list(self.sizes.items())[:1]
            ),
        ]
        return f"of {self.files}, {'; '.join(parts)}"

    def _lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("missing", self.missing), ("not expected", self.unexpected)


def verify(plan: ReplayPlan, target: Path, made: Mapping[str, int]) -> Verified:
    """Compares the files in `target` after a replay with those that its requests leave in their captured order.

    `made` has the bytes of each file before the replay, by path. Requests of the capture that the plan refused do not count.
    """
    right = left_by(plan, made)
    sizes = {stored(os.fsencode(path.relative_to(target))): path.stat().st_size for path in target.rglob("*") if path.is_file()}
    return Verified(
        files=len(right),
        missing=tuple(sorted(right.keys() - sizes.keys())),
        unexpected=tuple(sorted(sizes.keys() - right.keys())),
        sizes={path: (right[path], sizes[path]) for path in sorted(right.keys() & sizes.keys()) if right[path] != sizes[path]},
    )


@dataclass
class _Content:
    size: int


class _Files:
    """The files by name, and the open handles by path. A request uses the handle that was opened last, or opens one."""

    def __init__(self, made: Mapping[str, int], handles: Mapping[str, int]) -> None:
        self.names = {path: _Content(size) for path, size in made.items()}
        self._open = {path: [self.names[path]] * count for path, count in handles.items() if path in self.names}

    def open(self, path: str, *, cuts: bool = False) -> None:
        content = self.names.setdefault(path, _Content(0))
        if cuts:
            content.size = 0
        self._open.setdefault(path, []).append(content)

    def close(self, path: str) -> None:
        if self._open.get(path):
            self._open[path].pop()

    def used(self, path: str) -> _Content:
        if not self._open.get(path):
            self.open(path)
        return self._open[path][-1]


def left_by(plan: ReplayPlan, made: Mapping[str, int]) -> dict[str, int]:
    """Returns the size in bytes of each file that the requests of a plan leave, by path, from the sizes before them in `made`."""
    files = _Files(made, plan.beginning.handles)
    columns = ("op", "file", "other", "offset", "length", "cuts", "expected")
    for op, path, other, offset, length, cuts, expected in zip(*(plan.requests[name] for name in columns), strict=True):
        if expected < 0 or path in plan.folders:
            continue
        match op:
            case "open":
                files.open(path, cuts=cuts)
            case "close":
                files.close(path)
            case "rename" if path in files.names:
                files.names[other] = files.names.pop(path)
            case "unlink":
                files.names.pop(path, None)
            case "read" | "write" | "sync" | "truncate":
                _resize(files.used(path), op, offset + expected, length)
    return {path: content.size for path, content in files.names.items()}


def _resize(content: _Content, op: str, end: int, length: int) -> None:
    if op == "truncate":
        content.size = length
    elif op == "write":
        content.size = max(content.size, end)
