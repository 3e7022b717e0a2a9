"""Reads the columns of a table, or the keys of a JSON object, from the types in the code that they are written by."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pyarrow as pa
from pydantic import BaseModel

from tickdisk.foundation.record import Unit

_NULL, _NUMBER, _INTEGER = "null", "number", "integer"
_KINDS: dict[object, str] = {
    int: _INTEGER,
    float: _NUMBER,
    str: "text",
    bool: "true or false",
    NoneType: _NULL,
    Any: "any value",
}
_COLUMN_KINDS = {"double": "float64"}
_OWN = "tickdisk."


@dataclass(frozen=True)
class Key:
    """A column of a Parquet table, or a key of a JSON object, with what the code says about it."""

    name: str
    kind: str
    """The type in words."""
    docstring: str = ""
    """The sentence that describes it in the code, or an empty text."""
    unit: str = ""
    """The unit that the code names, or an empty text."""


def keys_of_table(schema: pa.Schema) -> tuple[Key, ...]:
    """Returns the columns of a Parquet table with their types in words."""
    return tuple(Key(column.name, f"{column_kind(column.type)}{' or null' if column.nullable else ''}") for column in schema)


def column_kind(kind: pa.DataType) -> str:
    """Returns the name that pandas has for the type of a column in a Parquet schema.

    Examples
    --------
    >>> column_kind(pa.float64()), column_kind(pa.dictionary(pa.int32(), pa.string()))
    ('float64', 'category')
    """
    if pa.types.is_dictionary(kind):
        return "category"
    return "string" if pa.types.is_large_string(kind) else _COLUMN_KINDS.get(str(kind), str(kind))


def keys_of_class(described: type[Any], *properties: str) -> tuple[Key, ...]:
    """Returns the fields of a dataclass or pydantic model, followed by the properties that the JSON object also has. The types
    come from annotations, and the sentences from docstrings.
    """
    docstrings, units = _docstrings_of_fields(described), _units(described)
    own = [Key(name, kind_of(hint), docstrings.get(name, ""), units.get(name, "")) for name, hint in _hints(described).items()]
    return (*own, *(_property(described, name) for name in properties))


def objects_of(described: type[Any]) -> Iterator[tuple[str, type[Any], bool]]:
    """Yields the fields of a class that hold objects of another class: the name, that class, and whether they hold several."""
    for name, hint in _hints(described).items():
        found, several = _object(hint)
        if found is not None:
            yield name, found, several


def _object(hint: Any) -> tuple[type[Any] | None, bool]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Annotated, Union, UnionType):
        return next((found for found in map(_object, arguments) if found[0] is not None), (None, False))
    if origin in (list, tuple, dict, Sequence, Mapping):
        return _object(arguments[1 if origin in (dict, Mapping) else 0])[0], True
    return (hint if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, BaseModel)) else None), False


def _hints(described: type[Any]) -> dict[str, Any]:
    if issubclass(described, BaseModel):
        return {name: field.annotation for name, field in described.model_fields.items()}
    known = get_type_hints(described, include_extras=True)
    return {field.name: known[field.name] for field in fields(described)}


def _units(described: type[Any]) -> dict[str, str]:
    """Returns the units that the fields of a class name."""
    if issubclass(described, BaseModel):
        metadata = {name: tuple(field.metadata) for name, field in described.model_fields.items()}
    else:
        hints = get_type_hints(described, include_extras=True)
        metadata = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
    return {name: unit.name for name, values in metadata.items() for unit in values if isinstance(unit, Unit)}


def _property(described: type[Any], name: str) -> Key:
    getter = getattr(described, name).fget
    return Key(name, kind_of(get_type_hints(getter)["return"]), _one_line(inspect.getdoc(getter) or ""))


def elements_of(hint: Any) -> type[Any]:
    """Returns the class of the elements of a list, or of the first element of a tuple, from its type hint."""
    element: type[Any] = get_args(hint)[0]
    return element


def elements_of_field(described: type[Any], name: str) -> type[Any]:
    """Returns the class of the elements of a field that is a list or a tuple."""
    return elements_of(get_type_hints(described)[name])


def kind_of(hint: Any) -> str:
    """Returns the JSON type of values with a Python type hint, in words for docs/columns.md.

    Examples
    --------
    >>> kind_of(float | int | None), kind_of(list[tuple[int, int]]), kind_of(Literal["read", "write"])
    ('number or null', 'list of lists of 2 integers', '`read` or `write`')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return kind_of(arguments[0])
    if origin in (Union, UnionType):
        kinds = dict.fromkeys(kind_of(argument) for argument in arguments)
        if _NUMBER in kinds:
            kinds.pop(_INTEGER, None)
        return " or ".join(sorted(kinds, key=lambda kind: kind == _NULL))
    if origin is Literal:
        return " or ".join(f"`{value}`" if value else "an empty text" for value in arguments)
    if origin in (list, tuple, Sequence):
        return _list_kind(arguments)
    return _KINDS.get(hint, "object")


def _list_kind(arguments: tuple[Any, ...]) -> str:
    kinds = {kind_of(argument) for argument in arguments if argument is not Ellipsis}
    if len(kinds) != 1:
        return "list"
    number = "" if Ellipsis in arguments or len(arguments) == 1 else f"{len(arguments)} "
    return f"list of {number}{_plural(kinds.pop())}"


def _plural(kind: str) -> str:
    if "`" in kind:
        return "words"
    if kind.startswith("list"):
        return kind.replace("list", "lists", 1)
    return " or ".join(f"{part}s" for part in kind.split(" or "))


def _docstrings_of_fields(described: type[Any]) -> dict[str, str]:
    """Returns the docstring of each field of a class and of its base classes in this package."""
    found: dict[str, str] = {}
    for base in reversed(described.__mro__):
        if not base.__module__.startswith(_OWN):
            continue
        definition = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(definition, ast.ClassDef)
        for field, after in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
                text = after.value.value if isinstance(after.value, ast.Constant) else None
                if isinstance(text, str):
                    found[field.target.id] = _one_line(text)
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())
