"""Changes of a server's settings, store or places of files that may help against a slow disk, each with a title in words."""

import shutil
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
    store: str | None = None
    """Name of the store that the world is converted to. None for the usual one."""
    apart: tuple[str, ...] = ()
    """Names of files in the folder of the world that lie on another device. Empty for none."""


def place_apart(world: Path, names: Iterable[str], other: Path) -> None:
    """Puts links to files in the folder `other` into a world, which has the files `names` there from now on.

    A file of that name in the world is moved. A link is set anew, and a file that does not exist yet will be made in `other`.
    """
    for name in names:
        inside, target = world / name, other / name
        if inside.is_file() and not inside.is_symlink():
            shutil.copyfile(inside, target)
        inside.unlink(missing_ok=True)
        inside.symlink_to(target)
