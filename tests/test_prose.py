"""The prose of the code: openings of sentences, the glossary's words, the sections of public functions, and examples that run."""

import ast
import doctest
import importlib.util
import inspect
import io
import pkgutil
import re
import tokenize
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import tickdisk

pytestmark = pytest.mark.prose

ROOT = Path(__file__).resolve().parent.parent
OPENING = re.compile(r"(Who|Whose|What|Of|That|Those)\b[^?]*$")
"""A sentence that begins with one of these words and is no question makes its reader wait for its subject."""
ARRAY = re.compile(r"DataFrame|Series|ndarray|NDArray|\bValues\b|pa\.Table")
"""Types whose shape or columns a signature does not say."""
SHAPE = re.compile(r"\b(columns?|rows?|shapes?|arrays?|index(?:ed)?|ascending|(?:for|of) each|each)\b")
FLOORS = {"foundation", "saving"}
"""Packages that only hold rooms."""
BUILT = {"target", "build"}


def python_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of every docstring and comment of a Python file."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, inspect.cleandoc(node.value.value)
    comments = (
        (token.start[0], token.string.lstrip("#").strip())
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    )
    yield from joined(comments)


def compiled_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of every comment of a Rust or Go file. No string of these files has two slashes."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    yield from joined((number, line.partition("//")[2].lstrip("/!").strip()) for number, line in lines if "//" in line)


def joined(comments: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yields comments with those that stand in consecutive lines joined."""
    for _, group in groupby(enumerate(comments), lambda one: one[1][0] - one[0]):
        lines = [comment for _, comment in group]
        yield lines[0][0], "\n".join(text for _, text in lines)


def texts() -> Iterator[tuple[str, str]]:
    """Yields the place and the text of every docstring and comment of the package and of the programs beside it."""
    for folder, suffix, read in (
        ("src/tickdisk", ".py", python_texts),
        ("benchmarks", ".py", python_texts),
        ("envs", ".py", python_texts),
        ("src/native/src", ".rs", compiled_texts),
        ("src/players", ".go", compiled_texts),
    ):
        for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
            if not BUILT & set(path.parts):
                yield from ((f"{path.relative_to(ROOT)}:{line}", text) for line, text in read(path))


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a docstring or comment."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] )", text):
        yield from re.split(r"(?<=[.!?]) (?=[A-Z`])", " ".join(paragraph.split()))


def rooms() -> Iterator[str]:
    """Yields the name of every room, without the package."""
    for found in pkgutil.iter_modules(tickdisk.__path__):
        if found.name in FLOORS:
            floor = importlib.import_module(f"tickdisk.{found.name}")
            yield from (f"{found.name}.{room.name}" for room in pkgutil.iter_modules(floor.__path__))
        elif not found.name.startswith("_"):
            yield found.name


def exported(room: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yields the functions that a room's door exports, each with its name."""
    module = importlib.import_module(f"tickdisk.{room}")
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__ and name[0] != "_"]
    for name in getattr(module, "__all__", own):
        value = inspect.unwrap(getattr(module, name))
        if inspect.isfunction(value):
            yield f"{room}.{name}", value


PUBLIC = [pair for room in rooms() for pair in exported(room)]
MODULES = [found.name for found in pkgutil.walk_packages(tickdisk.__path__, "tickdisk.")]


def test_no_sentence_begins_without_its_subject() -> None:
    found = [f"{place}: {each}" for place, text in texts() for each in sentences(text) if OPENING.match(each)]
    assert not found, "\n".join(found)


def test_docstrings_and_comments_use_the_words_of_the_glossary() -> None:
    rows = re.findall(r"^\| (?!Word|---)[^|]+\|[^|]+\| ([^|]+?) \|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    forbidden = re.compile(rf"\b({'|'.join(map(re.escape, rows))})\b", re.IGNORECASE)
    found = [f"{place}: {word}" for place, text in texts() for word in forbidden.findall(re.sub(r"`[^`]*`", "", text))]
    assert not found, "\n".join(found)


def test_a_room_says_what_it_is_for() -> None:
    said = {room: inspect.getdoc(importlib.import_module(f"tickdisk.{room}")) or "" for room in rooms()}
    assert not [room for room, text in said.items() if not text.splitlines() or text.splitlines()[0][-1] not in ".:"]


def test_a_public_function_says_which_arrays_it_takes_and_returns() -> None:
    """The type of an array or a table says neither its shape nor its columns."""
    silent = []
    for name, function in PUBLIC:
        docstring = inspect.getdoc(function) or ""
        arrays = [key for key, hint in inspect.get_annotations(function).items() if ARRAY.search(str(hint))]
        if arrays and not SHAPE.search(docstring) and not all(re.search(rf"\b{key}\b", docstring) for key in arrays):
            silent.append(name)
    assert not silent, silent


def test_examples_run() -> None:
    tried = 0
    for name in MODULES:
        spec = importlib.util.find_spec(name)
        if (
            spec is not None
            and spec.origin is not None
            and spec.origin.endswith(".py")
            and ">>>" in Path(spec.origin).read_text()
        ):
            found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
            assert found.failed == 0, name
            tried += found.attempted
    assert tried > 20


def test_the_tests_find_prose_to_check() -> None:
    assert len(PUBLIC) > 150
    assert sum(1 for _ in texts()) > 2000
