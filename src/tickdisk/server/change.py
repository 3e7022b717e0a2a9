"""Changes of a server's settings, store or places of files that may help against a slow disk, each with a title in words."""

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class OptionalProgram:
    """A program that a change needs and that the set-up does not install."""

    title: str
    """Name of the program for people."""
    pattern: str
    """Pattern of the path of the program, relative to the root folder of the machine. Versions may lie beside each other."""
    package: str
    """The Debian package that brings the program."""

    def found(self, root: Path = Path("/")) -> Path | None:
        """Returns the path of the newest version of the program on a machine, or None if there is none."""
        return max(root.glob(self.pattern), key=_version, default=None)


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


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
    program: OptionalProgram | None = None
    """A program that the change needs. None if it needs none but the server."""


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
