"""Changes of a server: settings, stores and places of files that may help against a slow disk, each with what it stands for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Change:
    """One change of a kind of server, which an operator could make, too."""

    title: str
    """The change in words, for tables and sentences."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that take precedence over those of the project."""
    save_periods: float = 1.0
    """Time between two periodic saves as a multiple of the usual one."""
    store: str | None = None
    """Name of the store that the world is converted to. None for the usual one."""
    apart: tuple[str, ...] = ()
    """Patterns of names of files in the folder of the world that lie on another device. Empty for none."""


def place_apart(world: Path, patterns: Iterable[str], other: Path) -> list[Path]:
    """Moves the files of a world whose names match one of `patterns` to the folder `other`, and leaves links in their places.

    Returns the names of the files, relative to the world. A link in the world is set anew, and its file must be in `other`.
    """
    moved = []
    for path in sorted({path for pattern in patterns for path in world.glob(pattern)}):
        if not path.is_symlink():
            content = path.read_bytes()
            (other / path.name).write_bytes(content)
        path.unlink()
        path.symlink_to(other / path.name)
        moved.append(path.relative_to(world))
    return moved
