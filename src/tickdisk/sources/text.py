"""Source text loses here what changes nothing when it runs: comments, docstrings, unit tests and white space."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.c_cpp import CLexer
from pygments.lexers.go import GoLexer
from pygments.lexers.rust import RustLexer
from pygments.lexers.scripting import LuaLexer
from pygments.token import Comment, Punctuation, String

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LEXERS: dict[str, "Lexer"] = {".rs": RustLexer(), ".go": GoLexer(), ".lua": LuaLexer(), ".bt": CLexer()}
"""Lexers go by suffix; bpftrace has C's comments and strings."""
_DIRECTIVE = "//go:"
"""Comments that begin so are obeyed by Go's compiler."""
_TEST = ["#[", "cfg(test)", "]"]
_WORD = re.compile(r"\w")


def code_of(path: Path) -> str:
    """Returns the text of a file of Rust, Go, Lua or bpftrace without what changes nothing, of Python as `python_code` has it.

    A file in another format, such as a server's settings, is returned as it is.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return python_code(ast.parse(text, str(path)))
    return _code(text, path.suffix) if path.suffix in _LEXERS else text


def python_code(tree: ast.Module) -> str:
    """Returns the code of a module in one format, without comments and docstrings, also those of attributes; changes `tree`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [statement for statement in node.body if not _is_docstring(statement)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    """Returns whether the statement is a string that stands alone, wherever it stands."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@cache
def _code(text: str, suffix: str) -> str:
    """Puts the tokens together again with a space only between words: a newer lexer that cuts differently gives the same."""
    found: list[str] = []
    is_apart = False
    for kind, word in _untested(_LEXERS[suffix].get_tokens(text)):
        is_comment = (kind in Comment and kind not in Comment.Preproc) or kind in String.Doc
        if (is_comment and not word.startswith(_DIRECTIVE)) or word.isspace():
            is_apart = True
            continue
        if found and is_apart and _WORD.match(found[-1][-1]) and _WORD.match(word):
            found.append(" ")
        found.append(word)
        is_apart = False
    return "".join(found)


def _untested(tokens: Iterator[tuple[object, str]]) -> Iterator[tuple[object, str]]:
    """Yields tokens but those of Rust items under `#[cfg(test)]`: up to a semicolon, or the brace that closes the first."""
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
    depth = 0
    for kind, word in tokens:
        if kind not in Punctuation:
            continue
        depth += word.count("{") - word.count("}")
        if depth == 0 and ("}" in word or ";" in word):
            return
