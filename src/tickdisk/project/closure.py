"""The code that a computation uses: the Python modules that it imports, directly or through others, and what these call in Rust.

Comments, docstrings and formatting of Python do not count. A file in another language counts as it is.
"""

import ast
import atexit
import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole

_PACKAGE, _NATIVE = "tickdisk", "tickdisk._native"
_BESIDE = re.compile(r"\w+\.(py|bt)")
_EXPORTED = re.compile(r"use (?:super|crate)::(\w+)::(?:\w+::)?\{?([\w,\s]+)\}?;")


@dataclass(frozen=True)
class Closure:
    """The code that a computation uses, as texts."""

    python: Mapping[str, str]
    """By module, by `module:function`, or by file."""
    native: Mapping[str, str]
    """By file of the native module, relative to `src/native`. Empty if the computation does not use it."""


@dataclass(frozen=True)
class _Module:
    """The parts of a Python module that a closure depends on."""

    code: str
    imports: tuple[tuple[str, str, str], ...]
    """For each import from this package: the module, the name in it, and the name that it gets here."""
    used: Mapping[str, tuple[str, ...]]
    """Attributes of each name, with `*` if the name is also used without one."""
    named: tuple[str, ...]
    """Strings in it that can be names of files in its folder, because those can be programs that it starts."""


@dataclass
class _Parses:
    """Modules as they were parsed before, because the parser takes seconds for all of them."""

    parser: str
    """Digest of this file and of Python's version. Another parser could find other parts."""
    modules: dict[str, tuple[str, _Module]]
    """By name: a digest of the file, and what it says."""


_PARSES = TypeAdapter(_Parses)


def closure(starts: Sequence[str | Path], src: Path, stops: Sequence[str] = ()) -> Closure:
    """Finds the code that a computation uses, in the files as they are now (see `Sources.closure`)."""
    return Sources(src).closure(starts, stops)


class Sources:
    """The files of the package in the folder `src`, each as it is when it is first needed, and read only once."""

    def __init__(self, src: Path) -> None:
        self._src = src
        self._linked: dict[str | Path, tuple[_Module, list[tuple[str, str]]]] = {}
        self._modules: dict[str | Path, _Module | None] = {}
        self._native: dict[frozenset[str], dict[str, str]] = {}
        self._parses_path = src.parent / "build/closure.json"
        self._is_new = False
        atexit.register(self._keep)

    def closure(self, starts: Sequence[str | Path], stops: Sequence[str] = ()) -> Closure:
        """Finds the code that a computation uses.

        `starts` are modules, functions as `module:function`, or files outside of `src`. A function counts without the rest of its
        module, except for what it refers to. `stops` are rooms and modules that do not count. An import is followed wherever it
        stands. The `__init__` of a package only passes on what its modules define, so an import from there leads to the module
        that defines the name. Raises TickdiskError if a module or a function does not exist.
        """
        waiting, code, native = list(starts), dict[str, str](), set[str]()
        while waiting:
            name = waiting.pop()
            if str(name) in code:
                continue
            module, taken = self._links(name)
            counted = [found for found in taken if not any(f"{found[0]}.".startswith(f"{stop}.") for stop in stops)]
            code[str(name)] = "\n".join([module.code, *map(" ".join, counted)])
            native |= {word for origin, word in counted if origin == _NATIVE}
            waiting += [origin for origin, _ in counted if origin != _NATIVE]
            place = self._place(name)
            for path in (place.with_name(word) for word in module.named if place is not None):
                if not path.is_file():
                    continue
                if path.suffix == ".py":
                    is_inside = path.is_relative_to(self._src)
                    waiting.append(".".join(path.relative_to(self._src).with_suffix("").parts) if is_inside else path)
                else:
                    code[path.name] = path.read_text(encoding="utf-8")
        return Closure(code, self._native_code(frozenset(native)) if native else {})

    def _links(self, name: str | Path) -> tuple[_Module, list[tuple[str, str]]]:
        """Returns a module, and in order the modules and the names in them that its imports lead to."""
        if name not in self._linked:
            module = self._module(name)
            if module is None:
                raise TickdiskError(
                    f"{self._src} has no module {name}; correct the product that starts with it, or the import of it"
                )
            used = ((origin, word, module.used.get(alias, ())) for origin, word, alias in module.imports)
            self._linked[name] = module, sorted({found for each in used for found in self._origins(*each)})
        return self._linked[name]

    def _native_code(self, names: frozenset[str]) -> dict[str, str]:
        if names not in self._native:
            self._native[names] = native_code(names, self._src / "native")
        return self._native[names]

    def _origins(self, module: str, name: str, used: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yields where an import of `name` from `module` leads to: the module that defines the name, and its name there.

        If `name` is a package, the import leads to the definitions of the names `used` of it.
        """
        inner = f"{module}.{name}"
        door = self._module(module) if _is_package(module, self._src) else None
        passed_on = [(origin, word) for origin, word, alias in door.imports if alias == name and origin != module] if door else []
        if passed_on:
            yield from self._origins(*passed_on[0], used)
        elif used and (inner == _NATIVE or _is_package(inner, self._src)):
            for word in used:
                yield from self._origins(inner, word, ())
        else:
            yield (module, name) if _path(inner, self._src) is None else (inner, "*")

    def _module(self, name: str | Path) -> _Module | None:
        if name not in self._modules:
            path = self._place(name)
            self._modules[name] = None if path is None else self._parsed(name, path.read_text(encoding="utf-8"))
        return self._modules[name]

    def _place(self, name: str | Path) -> Path | None:
        return name if isinstance(name, Path) else _path(name.partition(":")[0], self._src)

    def _parsed(self, name: str | Path, text: str) -> _Module:
        found = hashlib.sha256(text.encode()).hexdigest()
        before, module = self._parses.modules.get(str(name), ("", None))
        if module is None or found != before:
            module, self._is_new = _parsed(name.stem if isinstance(name, Path) else name, text), True
            self._parses.modules[str(name)] = found, module
        return module

    @cached_property
    def _parses(self) -> _Parses:
        parser = hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode()).hexdigest()
        try:
            before = _PARSES.validate_json(self._parses_path.read_bytes())
        except (OSError, ValidationError):  # It is only a cache.
            before = None
        return before if before and before.parser == parser else _Parses(parser, {})

    def _keep(self) -> None:
        """Keeps what was parsed for other processes, if this checkout has a folder for it."""
        if self._is_new and os.access(self._parses_path.parent, os.W_OK):
            with whole(self._parses_path) as partial:
                partial.write_bytes(_PARSES.dump_json(self._parses))
            self._is_new = False


def native_code(names: Collection[str], folder: Path) -> dict[str, str]:
    """Returns the code behind names of the native module, by file: all Rust modules that their bindings use, and Cargo's files.

    The name `*` stands for all. `folder` is `src/native`. Its `src/python.rs` exports names from parts, which are defined in
    `src/python/PART.rs` or in PART.
    """
    exported = _EXPORTED.findall((folder / "src/python.rs").read_text(encoding="utf-8"))
    parts = {name: part for part, words in exported for name in re.findall(r"\w+", words)}
    code = {name: (folder / name).read_text(encoding="utf-8") for name in ("Cargo.toml", "Cargo.lock")}
    waiting, done = (
        {module for name in (parts if "*" in names else names) for module in (f"python/{parts[name]}", parts[name])},
        set[str](),
    )
    while waiting:
        done.add(module := waiting.pop())
        for path in (folder / f"src/{module}.rs", *(folder / "src" / module).rglob("*.rs")):
            if path.name != "tests.rs" and path.is_file():
                text = code[str(path.relative_to(folder))] = path.read_text(encoding="utf-8")
                waiting |= {*re.findall(r"crate::(\w+)", text)} - done
    return code


@cache
def _path(name: str, src: Path) -> Path | None:
    place = src.joinpath(*name.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _is_package(name: str, src: Path) -> bool:
    path = _path(name, src)
    return path is not None and path.name == "__init__.py"


@cache
def _parsed(name: str, text: str) -> _Module:
    module, _, function = name.partition(":")
    tree = ast.parse(text, module)
    if function:
        _cut(tree, function, module)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [part for part in body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    nodes = list(ast.walk(tree))
    strings = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return _Module(ast.unparse(tree), tuple(_imports(nodes)), _used(nodes), tuple(filter(_BESIDE.fullmatch, sorted(strings))))


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str, str]]:
    """Yields the imports from this package, as `_Module.imports` has them."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{_PACKAGE}."):
            yield from ((str(node.module), alias.name, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            parts = [alias.name.rpartition(".") for alias in node.names if alias.name.startswith(f"{_PACKAGE}.")]
            yield from ((module, name, "") for module, _, name in parts)


def _used(nodes: Sequence[ast.AST]) -> dict[str, tuple[str, ...]]:
    """Returns the attributes that are taken of each name, as `_Module.used` has them."""
    parts = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    used: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Name) and id(node) not in parts and isinstance(node.ctx, ast.Load):
            used.setdefault(node.id, set()).add("*")
    return {name: tuple(sorted(attributes)) for name, attributes in used.items()}


def _cut(tree: ast.Module, function: str, module: str) -> None:
    """Leaves in a module one function and the statements that it refers to, directly or through others.

    Annotations and decorators of functions say how a command is called, so they do not count.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
        elif isinstance(node, ast.arg):
            node.annotation = None
    waiting, needed, kept = [function], set[str](), set[ast.stmt]()
    while waiting:
        needed.add(name := waiting.pop())
        for statement in (one for one in tree.body if one not in kept and name in _bound(one)):
            kept.add(statement)
            nodes = list(ast.walk(statement))
            arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
            waiting += sorted({node.id for node in nodes if isinstance(node, ast.Name)} - arguments)
    if not kept:
        raise TickdiskError(f"{module} has no function {function}; correct the product that starts with it")
    for statement in kept:
        if isinstance(statement, ast.ImportFrom):
            statement.names = [alias for alias in statement.names if (alias.asname or alias.name) in needed]
    tree.body = [statement for statement in tree.body if statement in kept]


def _bound(statement: ast.stmt) -> set[str]:
    """Returns the names that a statement of a module gives a value."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
