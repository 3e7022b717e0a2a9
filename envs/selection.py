# ruff: noqa: INP001, S603, S607
"""Says which files changed since the checks passed last, and which test files a change can break.

`python envs/selection.py FILES` prints the test files that a change of these files can break.

A test file depends on the modules that define what it imports, directly or through others, and on the Rust files that these use.
`tests/reads.toml` says which other files tests read, and `tests/conftest.py` fails a test that reads a file which is not said
there.
"""

import ast
import fnmatch
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PASSED = ROOT / "build/checked.json"
_TESTS = Path("tests")
_EVERY_TEST = ("tests/conftest.py", "pyproject.toml", "envs/requirements.txt", "envs/selection.py", "tests/reads.toml")
"""Patterns of files that every test depends on."""

READS = ROOT / "tests/reads.toml"
"""Tests that read files which no import shows, by the pattern of the files."""


def state() -> dict[str, str]:
    """Returns git's hash of each file of the project that git does not ignore, as it is in the folder.

    Where the folder is no working copy of git, such as one from an archive, there are none.
    """
    if not (ROOT / ".git").exists():
        return {}
    listed = _git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    names = sorted(name for name in set(listed) if (ROOT / name).is_file())
    hashes = _git("hash-object", "--stdin-paths", given="\n".join(names)).split()
    return dict(zip(names, hashes, strict=True))


def passed() -> dict[str, str]:
    """Returns the hashes of the files for which all checks passed last.

    On a machine where none has passed yet, these are the files of the last commit that others have, because no commit lands
    without its checks. Without such a commit, it is none.
    """
    if PASSED.exists():
        return dict(json.loads(PASSED.read_text()))
    commit = _git("merge-base", "HEAD", "@{upstream}", may_fail=True).strip()
    rows = _git("ls-tree", "-r", commit).splitlines() if commit else []
    return {name: about.split()[2] for about, _, name in (row.partition("\t") for row in rows)}


def remember(files: Mapping[str, str]) -> None:
    """Keeps the hashes of files for which all checks have passed."""
    PASSED.parent.mkdir(exist_ok=True)
    PASSED.write_text(json.dumps(files, indent=0, sort_keys=True) + "\n")


def changed(now: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    """Returns the files that are new, gone or different."""
    return sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))


def matching(files: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Returns the files that match a pattern of `fnmatch`, in which `*` also stands for folders."""
    return [file for file in files if any(fnmatch.fnmatch(file, pattern) for pattern in patterns)]


def all_tests() -> list[str]:
    """Returns the names of all test files, without their suffix."""
    return sorted(path.stem for path in (ROOT / _TESTS).glob("test_*.py"))


def tests(files: Iterable[str]) -> list[str]:
    """Returns the names of the test files that a change of these files can break."""
    files = list(files)
    if not files:
        return []
    if matching(files, _EVERY_TEST):
        return all_tests()
    return [name for name in all_tests() if matching(files, depends_on(name))]


def depends_on(name: str) -> list[str]:
    """Returns patterns of the files that a test file depends on."""
    read = [pattern for pattern, names in _reads().items() if name.removeprefix("test_") in names]
    return [*_EVERY_TEST, *_imported(f"{name}.py"), *read]


@cache
def _reads() -> dict[str, list[str]]:
    return tomllib.loads(READS.read_text(encoding="utf-8"))


def _imported(test: str) -> Iterator[str]:
    """Yields patterns of the files that a test file is made of: itself, test files and modules that define what it uses."""
    waiting, own = [ROOT / _TESTS / test], set[Path]()
    while waiting:
        own.add(path := waiting.pop())
        waiting += [found for module in _imports(path) if (found := _file(module)) is not None and found not in own]
    used = _sources().closure(sorted(own))
    modules = {found for name in used.python if (found := _file(name, "src")) is not None}
    doors = {
        folder / "__init__.py" for path in modules for folder in path.parents if folder.is_relative_to(ROOT / "src/tickdisk")
    }
    yield from (str(path.relative_to(ROOT)) for path in {*map(Path, used.python), *own, *modules, *doors} if path.is_absolute())
    yield from {f"{folder.relative_to(ROOT)}/[!_]*.[!p]*" for folder in {path.parent for path in modules}}
    if used.native:
        yield from (f"src/native/{name}" for name in (*used.native, "src/lib.rs", "src/python.rs"))


@cache
def _sources() -> Any:
    from tickdisk.project.closure import Sources  # noqa: PLC0415 - what has a mistake in its syntax has been linted by now

    return Sources(ROOT / "src")


@cache
def _imports(path: Path) -> list[str]:
    """Returns the modules that a file imports, wherever the import stands, and the packages that they lie in."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    parts = [module.split(".") for module in found]
    return sorted({".".join(part[:end]) for part in parts for end in range(1, len(part) + 1)})


@cache
def _file(module: str, *folders: str) -> Path | None:
    """Returns the file of a module, by default one of the benchmarks or of the tests."""
    place = Path(*module.split("."))
    candidates = [
        ROOT / folder / form for folder in folders or ("", _TESTS) for form in (place.with_suffix(".py"), place / "__init__.py")
    ]
    return next((path for path in candidates if path.is_file()), None)


def _git(*words: str, given: str = "", may_fail: bool = False) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, input=given, capture_output=True, text=True, check=not may_fail)
    return done.stdout if done.returncode == 0 else ""


def main(words: Iterable[str]) -> None:
    """Prints the test files that a change of these files, or of a file in these folders, can break."""
    known, files = state(), list[str]()
    for word in words:
        name = os.path.relpath(word, ROOT)
        if not (meant := matching(known, (name, f"{name}/*"))):
            sys.exit(f"{word} is no file of the project")
        files += meant
    for name in tests(files):
        print(_TESTS / f"{name}.py")


if __name__ == "__main__":
    main(sys.argv[1:])
