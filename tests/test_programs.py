"""Every program that the package, the tests or a build start comes with a package of the lists that the set-up installs.

A machine that happens to have a program hides a list that lacks it. So this test asks dpkg which package brings each program, and
whether that package is listed or needed by one that is.
"""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GIVEN = {"python3", "make", "git"}
"""The README asks for these."""
OPTIONAL = {
    "java": "tests only name it as the program of a trace",
    "perf": "a test with it is skipped where it is missing",
    "file": "a column of tables",
    "open": "a call in traces",
    "write": "a call in traces",
    "service": "a lane of a figure",
}
"""Words that are not needed as programs, with the reason."""
COMPILED = {"blake3": "gcc", "ring": "gcc", "libfuzzer-sys": "g++"}
"""Rust libraries that compile C or C++ when they are built, with the package of the compiler."""
FALLS_BACK = {"fuser"}
"""Rust libraries that look for a program, and are built without it."""

debian = pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="asks dpkg, which this machine does not have")


@cache
def listed() -> frozenset[str]:
    """Returns the packages that the set-up installs, with those for the tests and the first Rust toolchain."""
    spec = importlib.util.spec_from_file_location("tickdisk_setup", ROOT / "envs/setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    text = (ROOT / "envs/system-packages.txt").read_text()
    required, rust = setup.package_lists(text)
    return frozenset(
        [
            *required,
            *(name for purpose in setup.PURPOSES for name in setup.packages_for(purpose, text)),
            *(name for words in rust for name in words),
            *GIVEN,
        ]
    )


@cache
def brought() -> frozenset[str]:
    """Returns the listed packages, those of every Debian, and all that these depend on."""
    fields = "${Package}\t${Essential}\t${Priority}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    rows = subprocess.run(["dpkg-query", "-W", "-f", fields], capture_output=True, text=True, check=True).stdout.splitlines()
    needs: dict[str, set[str]] = {}
    waiting = set(listed())
    for row in rows:
        name, essential, priority, depends, provides = row.split("\t")
        wanted = set(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", depends))
        for one in (name, *re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9.+-]+)", provides)):
            needs.setdefault(one, set()).update(wanted, {name})
        if essential == "yes" or priority == "required":
            waiting.add(name)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= needs.get(name, set())
    return frozenset(found)


def unlisted(programs: Iterable[str]) -> dict[str, str]:
    """Returns the programs that come with a package which no list brings, each with the package."""
    places: dict[str, str] = {}
    for program in programs:
        if path := shutil.which(program):
            places |= dict.fromkeys((path, str(Path(path).resolve()), path.removeprefix("/usr")), program)
    said = subprocess.run(["dpkg-query", "-S", *places], capture_output=True, text=True, check=False).stdout.splitlines()
    owners: dict[str, str] = {}
    for line in said:
        package, _, place = line.partition(": ")
        if place in places and not line.startswith("diversion "):
            owners.setdefault(places[place], package.partition(":")[0])
    return {program: package for program, package in owners.items() if package not in brought()}


def started() -> Iterator[tuple[str, str]]:
    """Yields the first word of every list of words in the code, which is a program if the list is a command, with its place."""
    for top in ("src/tickdisk", "benchmarks", "tests", "envs"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                words = node.elts if isinstance(node, ast.List | ast.Tuple) else node.args if isinstance(node, ast.Call) else []
                if words and isinstance(words[0], ast.Constant) and isinstance(words[0].value, str):
                    called = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else "which"
                    if called in ("which", "tool", "output"):
                        yield words[0].value, f"{path.relative_to(ROOT)}:{node.lineno}"


@debian
def test_every_program_that_is_started_comes_with_a_listed_package() -> None:
    found = {program: place for program, place in started() if program not in OPTIONAL and re.fullmatch(r"[\w.+-]+", program)}
    assert {"mkfs.ext4", "fio", "bpftrace", "gcc", "chromium", "ruff"} <= found.keys()
    missing = {
        program: f"{place} needs the package {package}" for program, place in found.items() if (package := unlisted(program))
    }
    assert not missing, f"{missing}: add the package to envs/system-packages.txt"


@debian
def test_the_test_knows_a_program_that_no_list_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "listed", lambda: frozenset(GIVEN))
    brought.cache_clear()
    assert unlisted(["fio", "sh", "no such program"]) == {"fio": "fio"}
    brought.cache_clear()


@pytest.mark.parametrize("lock", ["src/native/Cargo.lock", "src/netcode/Cargo.lock", "src/native/fuzz/Cargo.lock"])
def test_every_library_that_is_compiled_with_another_compiler_has_it_listed(lock: str) -> None:
    for package in tomllib.loads((ROOT / lock).read_text())["package"]:
        name, uses = package["name"], {dependency.split()[0] for dependency in package.get("dependencies", [])}
        if uses & {"cc", "cmake", "pkg-config", "bindgen"} and name not in FALLS_BACK:
            assert name in COMPILED, f"{name} in {lock} compiles other code: say in this test which package it needs"
            assert COMPILED[name] in listed()
