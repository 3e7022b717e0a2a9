"""The code of the native module by parts, so that a change of one part does not change the digests of the others."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tickdisk.project.sources.text import code_of

PARTS = {
    "formats": ("TraceReader", "recognise_trace", "trace_formats"),
    "device": ("Disk", "simulate", "simulate_closed", "simulate_streams"),
    "replay": ("order_calls", "replay"),
    "pools": ("complete_workload", "find_dependencies", "run_pool"),
    "reuse": ("reuse_distances",),
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
"""Names of each part that Python sees. They are defined in `python/PART.rs` or in the part itself."""
REGISTERED = ("fuzzing.rs", "lib.rs", "python.rs")
"""Files that only list the parts, or that only the fuzzer has."""
_USED = re.compile(r"\bcrate::(\w+)")
_TESTS = "tests.rs"


def parts_of(names: Iterable[str]) -> list[str]:
    """Returns the parts of the native module that define some names, so that a result depends only on the parts that it uses."""
    wanted = set(names)
    return [part for part, own in PARTS.items() if wanted & set(own)]


def part_files(part: str, folder: Path) -> list[Path]:
    """Returns the sorted Rust files of one of the `PARTS` in `folder`: its own, and those of all modules that it uses."""
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
    """Returns the code of each file that `part_files` finds, by its path in `folder`. Comments and tests are cut."""
    return {str(path.relative_to(folder)): code_of(path) for path in part_files(part, folder)}


def all_code(folder: Path) -> dict[str, str]:
    """Returns the code of all Rust files of the native module, by its path in `folder`. Comments and tests are cut."""
    return {str(path.relative_to(folder)): code_of(path) for path in sorted(folder.rglob("*.rs")) if path.name != _TESTS}


def crates(native: Path) -> list[object]:
    """Returns the contents of Cargo.toml and Cargo.lock, which name the Rust libraries, in the folder `native` (`src/native`)."""
    return [tomllib.loads((native / name).read_text(encoding="utf-8")) for name in ("Cargo.toml", "Cargo.lock")]


def _module(name: str, folder: Path) -> list[Path]:
    """Returns the files that a Rust module can consist of: `NAME.rs`, and those in the folder NAME."""
    below = [path for path in (folder / name).rglob("*.rs") if path.name != _TESTS]
    return [folder / f"{name}.rs", *below]
