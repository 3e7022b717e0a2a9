"""Import closures: the modules with which a computation starts, and all modules that they import, directly or through others."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.project.sources.text import code_of, python_code

_PACKAGE, _NATIVE = "tickdisk", "_native"


@dataclass(frozen=True)
class Closure:
    """The Python code that a computation uses, directly or through imports, as the function `closure` finds it."""

    code: Mapping[str, str]
    """Text without comments, docstrings and formatting. The key is a module, `module:function`, or a file beside a module."""
    native: frozenset[str]
    """Names of the native module that the code uses, such as `simulate`."""


@dataclass(frozen=True)
class _Module:
    """The properties of one module that a closure depends on."""

    code: str
    imports: tuple[tuple[str, str | None], ...]
    """Pairs of a module and the name that is imported from it. None stands for the module itself."""
    strings: tuple[str, ...]
    """Strings in the module that can be names of files."""
    native: frozenset[str]


def closure(starts: Sequence[str], package: Path, stops: Sequence[str] = ()) -> Closure:
    """Finds the Python code that a computation uses, so that a digest of it shows whether results are out of date.

    `starts` are modules, or functions as `module:function`, of which only that function counts, with all that it refers to in its
    module. `stops` are modules that are not followed unless they are a start. With `.*` at its end a stop means all modules below
    it.

    An import is followed wherever it stands, also inside a function. A string that is the name of a module or another file beside
    the importing module is followed too, because it can name a program that is started. A package means its `__init__` and what
    that imports. A module of a package does not imply the `__init__` of the package. Raises TickdiskError if a module or a
    function does not exist.
    """
    waiting = list(starts)
    code: dict[str, str] = {}
    native: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in code or (name not in starts and _is_stopped(name, stops)):
            continue
        path = _path(name, package)
        if path is None:
            raise TickdiskError(f"{package} has no module {name}; correct the product that starts with it, or the import of it")
        module = _read(name, path.read_text(encoding="utf-8"), is_package=path.name == "__init__.py")
        code[name] = module.code
        native |= module.native
        waiting += [found for imported, word in module.imports for found in _modules(imported, word, package)]
        for string in module.strings:
            beside = path.parent / string
            if string.endswith(".py") and beside.is_file():
                waiting.append(f"{_package_of(name, path)}.{string.removesuffix('.py')}")
            elif beside.is_file():
                code[str(beside.relative_to(package))] = code_of(beside)
    return Closure(code, frozenset(native))


def _is_stopped(name: str, stops: Sequence[str]) -> bool:
    return any(name == stop or (stop.endswith(".*") and name.startswith(stop[:-1])) for stop in stops)


@cache
def _path(name: str, package: Path) -> Path | None:
    first, *rest = name.partition(":")[0].split(".")
    place = package.joinpath(*rest) if first == _PACKAGE else None
    candidates = () if place is None else (place.with_name(f"{place.name}.py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _package_of(name: str, path: Path) -> str:
    module = name.partition(":")[0]
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def _modules(imported: str, word: str | None, package: Path) -> Iterator[str]:
    """Yields the module that `from imported import word` leads to, which is `imported.word` if there is such a module."""
    if imported.partition(".")[0] == _PACKAGE and imported != f"{_PACKAGE}.{_NATIVE}" and word != _NATIVE:
        inner = f"{imported}.{word}"
        yield inner if word is not None and _path(inner, package) is not None else imported


@cache
def _read(name: str, text: str, *, is_package: bool) -> _Module:
    module, _, function = name.partition(":")
    tree = ast.parse(text, module)
    if function:
        tree = _function_with_dependencies(tree, function, module)
    code = python_code(tree)
    nodes = list(_executed_nodes(tree))
    strings = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for string in strings:
        nodes += _program(string)
    imports = dict.fromkeys(_imports(nodes, module if is_package else module.rpartition(".")[0]))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == _NATIVE}
    taken = {word for imported, word in imports if imported == f"{_PACKAGE}.{_NATIVE}" and word is not None}
    names = (string for string in strings if re.fullmatch(r"[\w.-]+\.\w+", string))
    return _Module(code, tuple(imports), tuple(names), frozenset(used | taken))


def _executed_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields `tree` and all nodes below it, except those in the body of an `if TYPE_CHECKING`, which never runs."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(tree, ast.If) and ast.unparse(tree.test).endswith("TYPE_CHECKING") and child in tree.body:
            continue
        yield from _executed_nodes(child)


def _program(string: str) -> list[ast.AST]:
    """Returns the nodes of a string that is itself a Python program with an import of this package."""
    if _PACKAGE not in string or "import" not in string:
        return []
    try:
        return list(ast.walk(ast.parse(string)))
    except SyntaxError:
        return []


def _imports(nodes: Sequence[ast.AST], package: str) -> Iterator[tuple[str, str | None]]:
    """Yields the pairs of module and name that the nodes import. `package` resolves relative imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            yield from ((origin, alias.name) for alias in node.names)


def _function_with_dependencies(tree: ast.Module, function: str, module: str) -> ast.Module:
    """Returns a function and the statements of its module that it refers to, directly or through others.

    Annotations and decorators of functions say how a command is called, so they do not count.
    """
    named: dict[str, ast.stmt] = {name: statement for statement in tree.body for name in _bound_names(statement)}
    if function not in named:
        raise TickdiskError(f"{module} has no function {function}; correct the product that starts with it")
    waiting, kept, needed = [function], set[ast.stmt](), set[str]()
    while waiting:
        needed.add(waiting[-1])
        statement = named.get(waiting.pop())
        if statement is None or statement in kept:
            continue
        kept.add(statement)
        arguments: list[ast.arg] = []
        if isinstance(statement, ast.FunctionDef):
            arguments = [*statement.args.args, *statement.args.kwonlyargs]
            statement.decorator_list, statement.returns = [], None
            for argument in arguments:
                argument.annotation = None
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        waiting += sorted(names - {argument.arg for argument in arguments})
    for statement in kept:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            statement.names = [alias for alias in statement.names if _bound_by(alias) in needed]
    return ast.Module([statement for statement in tree.body if statement in kept], [])


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from map(_bound_by, statement.names)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        yield from (node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]
