"""The native module has parts, and a change of one is not a change of the others."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tickdisk.sources.text import code_of

PARTS = {
    "device": ("Disk", "simulate", "simulate_closed", "simulate_streams"),
    "replay": ("replay",),
    "preads": ("preads",),
    "checkpoint": (
        "KnightsAndArchers",
        "Updates",
        "World",
        "store_live",
        "store_micro",
        "store_recover",
        "store_look",
        "store_verify",
    ),
}
"""These names of a part Python sees; they are in `python/PART.rs`, or in the part itself."""
REGISTERED = ("lib.rs", "python.rs")
"""These files only list the parts."""
_USED = re.compile(r"\bcrate::(\w+)")
_TESTS = "tests.rs"


def parts_of(names: Iterable[str]) -> list[str]:
    """Returns the parts in which `names` of the native module are."""
    wanted = set(names)
    return [part for part, own in PARTS.items() if wanted & set(own)]


def part_files(part: str, folder: Path) -> list[Path]:
    """Returns the files of a part in `src/native/src` (`folder`): its own, and those of the modules that these use, sorted."""
    waiting = [folder / "python" / f"{part}.rs", *_module(part, folder)]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        waiting += [file for module in _USED.findall(code_of(path)) for file in _module(module, folder)]
    return sorted(found)


def part_code(part: str, folder: Path) -> dict[str, str]:
    """Returns the code of a part by file."""
    return {str(path.relative_to(folder)): code_of(path) for path in part_files(part, folder)}


def all_code(folder: Path) -> dict[str, str]:
    """Returns the code of all parts and of what lists them, by file."""
    return {str(path.relative_to(folder)): code_of(path) for path in sorted(folder.rglob("*.rs")) if path.name != _TESTS}


def crates(native: Path) -> list[object]:
    """Returns what Cargo.toml and Cargo.lock in `src/native` say."""
    return [tomllib.loads((native / name).read_text(encoding="utf-8")) for name in ("Cargo.toml", "Cargo.lock")]


def _module(name: str, folder: Path) -> list[Path]:
    below = [path for path in (folder / name).rglob("*.rs") if path.name != _TESTS]
    return [folder / f"{name}.rs", *below]
