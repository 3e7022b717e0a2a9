"""Lists the programs that the set-up builds, from envs/programs.toml, and computes digests of their sources.

The set-up imports this module before any package is installed.
"""

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LIST = Path("envs/programs.toml")
_LEFT_OUT = re.compile(r"(^|/)(target|tests|__pycache__)/|(^|[/_])(tests\.rs|test\.go)$")
"""Paths of files of tests, and of what compilers write beside the sources."""


@dataclass(frozen=True)
class Program:
    """A program that the set-up builds."""

    built_with: str
    """`maturin`, `cargo`, `go` or `java`."""
    sources: Sequence[str]
    """Patterns of files and folders, relative to the project's folder."""
    output: str
    """Path of the program, relative to the project's folder."""
    is_optional: bool = False
    """Whether the set-up goes on if the libraries of the program cannot be fetched."""


def load_programs(root: Path) -> dict[str, Program]:
    """Returns the programs of the checkout `root` by their folders in `src`."""
    entries = tomllib.loads((root / _LIST).read_text(encoding="utf-8"))
    return {name: Program(**entry) for name, entry in entries.items()}


def files_digest(root: Path, sources: Sequence[str]) -> str:
    """Returns a digest of the names and contents of all files that belong to patterns of files and folders below `root`.

    Files of tests and the output of compilers do not count.
    """
    total = hashlib.sha256()
    for path in sorted({path for source in sources for top in root.glob(source) for path in (top, *top.rglob("*"))}):
        name = path.relative_to(root).as_posix()
        if not _LEFT_OUT.search(name) and path.is_file():
            total.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
