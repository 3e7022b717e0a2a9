"""The effect of calls on the names and the sizes of files."""

import os
from collections.abc import Collection, Iterable

ROOT = "."
"""Path of the root itself, relative to the root."""
RENAME_EXCHANGE = 2
KEEP_SIZE, COLLAPSE, INSERT = 1, 8, 0x20
"""Modes of fallocate: one that leaves the size of the file, and those that take bytes out of it and put bytes into it."""
MAKES_NAME = ("rename", "link", "symlink")
"""Operations with a second path: the new name of a rename or a link, or the path to which a symbolic link leads."""
CHANGES = ("write", "truncate", "fallocate", "discard", "rename", "unlink", "link", "symlink", "mkdir", "rmdir")
"""Operations that change the content, the size or the name of a file whenever they succeed."""


def is_unnamed(flags: int) -> bool:
    """Returns whether the flags of an open make a file without a name."""
    return flags & os.O_TMPFILE == os.O_TMPFILE


def resized(size: int, offset: int, length: int, mode: int) -> int:
    """Returns the size of a file after a fallocate."""
    if mode & COLLAPSE:
        return max(0, size - length)
    if mode & INSERT:
        return size + length
    return size if mode & KEEP_SIZE else max(size, offset + length)


def moves(names: Iterable[str], path: str, other: str, folders: Collection[str], *, exchanges: bool) -> list[tuple[str, str]]:
    """Returns the old and the new name of all that a rename moves. A folder, one of `folders`, moves with what is in it."""
    pairs = [(path, other), *([(other, path)] if exchanges else [])]
    inside = [(old, new, list(names) if old in folders else []) for old, new in pairs]
    return [
        *pairs,
        *((name, new + name[len(old) :]) for old, new, all_names in inside for name in all_names if name.startswith(f"{old}/")),
    ]
