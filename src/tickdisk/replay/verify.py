"""The check of the files after a replay, whose names and sizes must be those that the captured calls would have left."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tickdisk.paths import stored
from tickdisk.replay.plan import Plan


@dataclass(frozen=True)
class Verified:
    """The files of the target folder after a replay, beside those that the captured calls would have left there."""

    files: int
    """Number of files that the captured calls would have left."""
    missing: tuple[str, ...]
    """Paths of files that are not there."""
    unexpected: tuple[str, ...]
    """Paths of files that are there and should not be."""
    sizes: Mapping[str, tuple[int, int]]
    """Size in bytes that is right and size that was found, by path, where they differ."""

    @property
    def is_right(self) -> bool:
        """Whether all names and sizes are right."""
        return not (self.missing or self.unexpected or self.sizes)

    def sentence(self) -> str:
        """Returns the result in one sentence without its full stop."""
        if self.is_right:
            return f"all {self.files} have the names and sizes that the captured calls leave"
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


def verify(plan: Plan, target: Path, made: Mapping[str, int]) -> Verified:
    """Compares the files after a replay with those that the captured calls would have left.

    Parameters
    ----------
    plan
        Plan of the replay.
    target
        Folder in which the replay was made.
    made
        Size in bytes of each file before the replay, by path, as `prepare` returned it.

    Returns
    -------
    Verified
        The names and sizes that differ.
    """
    right = left_by(plan, made)
    found = {stored(os.fsencode(path.relative_to(target))): path.stat().st_size for path in target.rglob("*") if path.is_file()}
    return Verified(
        files=len(right),
        missing=tuple(sorted(right.keys() - found.keys())),
        unexpected=tuple(sorted(found.keys() - right.keys())),
        sizes={path: (right[path], found[path]) for path in sorted(right.keys() & found.keys()) if right[path] != found[path]},
    )


@dataclass
class _Content:
    size: int


class _Files:
    """The names and sizes of files, and the file that each path was opened for last."""

    def __init__(self, made: Mapping[str, int]) -> None:
        self.names = {path: _Content(size) for path, size in made.items()}
        self._handles = dict(self.names)

    def open(self, path: str, *, cuts: bool) -> None:
        content = self._handles[path] = self.names.setdefault(path, _Content(0))
        if cuts:
            content.size = 0

    def used(self, path: str) -> _Content:
        """Returns the content that requests to a path are for, also after the removal of the path."""
        if path not in self._handles:
            self.open(path, cuts=False)
        return self._handles[path]

    def rename(self, path: str, other: str) -> None:
        """Renames a file, or a folder with all that is in it."""
        for old in [name for name in self.names if name == path or name.startswith(f"{path}/")]:
            new = other + old.removeprefix(path)
            self.names[new] = self._handles[new] = self.names.pop(old)
            self._handles.pop(old, None)


def left_by(plan: Plan, made: Mapping[str, int]) -> dict[str, int]:
    """Returns the size in bytes of each file that the captured calls leave, by path, from the sizes before them in `made`."""
    files = _Files(made)
    columns = ("op", "file", "other", "offset", "length", "cuts", "expected")
    for op, path, other, offset, length, cuts, expected in zip(*(plan.requests[name] for name in columns), strict=True):
        if expected < 0 or (path in plan.folders and op != "rename"):
            continue
        match op:
            case "open":
                files.open(path, cuts=cuts)
            case "truncate":
                files.used(path).size = length
            case "write" if expected > 0:
                content = files.used(path)
                content.size = max(content.size, offset + expected)
            case "rename":
                files.rename(path, other)
            case "unlink":
                files.names.pop(path, None)
    return {path: content.size for path, content in files.names.items()}
