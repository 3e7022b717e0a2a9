"""The text of source files without comments, docstrings, unit tests and white space, none of which changes what the code does."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.c_cpp import CLexer
from pygments.lexers.go import GoLexer
from pygments.lexers.jvm import JavaLexer
from pygments.lexers.rust import RustLexer
from pygments.lexers.scripting import LuaLexer
from pygments.token import Comment, Punctuation, String

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LEXERS: dict[str, "Lexer"] = {
    ".rs": RustLexer(),
    ".go": GoLexer(),
    ".java": JavaLexer(),
    ".lua": LuaLexer(),
    ".bt": CLexer(),
}
"""Lexers by suffix. The lexer of C serves bpftrace, which has the same comments and strings."""
_DIRECTIVE = "//go:"
"""Beginning of comments that Go's compiler obeys."""
_TEST = ["#[", "cfg(test)", "]"]
_WORD = re.compile(r"\w")


def code_of(path: Path) -> str:
    """Returns the text of a source file without the parts that do not change what it does, for a digest.

    Python loses comments and docstrings. Rust, Go, Java, Lua and bpftrace lose comments, unit tests and white space. A file in
    another format is returned as it is.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return python_code(ast.parse(text, str(path)))
    return _code(text, path.suffix) if path.suffix in _LEXERS else text


def python_code(tree: ast.Module) -> str:
    """Returns the code of a Python module in one format, without comments, and without docstrings, which `tree` then lacks."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [statement for statement in node.body if not _is_docstring(statement)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    """Returns whether a statement is a string that stands alone, wherever it stands."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@cache
def _code(text: str, suffix: str) -> str:
    """Joins the tokens of a text again, without comments, and with a space only between words.

    A newer lexer that cuts the text into other tokens therefore gives the same result.
    """
    found: list[str] = []
    is_apart = False
    for kind, word in _without_tests(_LEXERS[suffix].get_tokens(text)):
        is_comment = (kind in Comment and kind not in Comment.Preproc) or kind in String.Doc
        if (is_comment and not word.startswith(_DIRECTIVE)) or word.isspace():
            is_apart = True
            continue
        if found and is_apart and _WORD.match(found[-1][-1]) and _WORD.match(word):
            found.append(" ")
        found.append(word)
        is_apart = False
    return "".join(found)


def _without_tests(tokens: Iterator[tuple[object, str]]) -> Iterator[tuple[object, str]]:
    """Yields the tokens without the Rust items under `#[cfg(test)]`."""
    held: list[tuple[object, str]] = []
    for token in tokens:
        held.append(token)
        words = [word for _, word in held]
        if words == _TEST[: len(words)]:
            if len(words) == len(_TEST):
                held.clear()
                _skip_item(tokens)
            continue
        yield from held
        held.clear()
    yield from held


def _skip_item(tokens: Iterator[tuple[object, str]]) -> None:
    """Reads the tokens of one Rust item, up to its semicolon or to the brace that closes its first brace."""
    depth = 0
    for kind, word in tokens:
        if kind not in Punctuation:
            continue
        depth += word.count("{") - word.count("}")
        if depth == 0 and ("}" in word or ";" in word):
            return
