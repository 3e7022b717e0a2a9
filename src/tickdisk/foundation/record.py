"""Records: the values that pass between rooms as JSON files.

One definition says what a file holds: `read` checks a JSON file against it, and `write` makes the file. `check` checks
values from elsewhere.
"""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_json

Value = TypeVar("Value")
_ANY: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass(frozen=True)
class Unit:
    """The unit of a field whose name does not end with it, for docs/columns.md: `lines: Annotated[int, Unit("lines")]`."""

    name: str


class Record(BaseModel):
    """A value whose fields have types and never change.

    A key that is not a field is an error. The docstring of a field describes it in docs/columns.md.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def read(kind: type[Value], path: Path, advice: str = "run the step that writes it again") -> Value:
    """Returns the content of a JSON file as a record, or as a list or dict of records.

    Numbers and texts are not converted into each other. Raises TickdiskError if there is no such file or if it does not fit
    `kind`; the message names the file and the key, and ends with `advice`.
    """
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes(), strict=True)
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; run the step that writes it") from error
    except ValidationError as error:
        raise TickdiskError(f"{path}: {problem(error)}; {advice}") from error


def write(path: Path, value: Any) -> None:
    """Writes a record, or a list or dict of records, as a JSON file that `read` returns again."""
    write_json(path, plain(value))


def plain(value: Any) -> Any:
    """Returns a record, or a list or dict of records, as values that JSON can hold."""
    return _ANY.dump_python(value, mode="json")


def check(kind: type[Value], values: Any, where: str, advice: str) -> Value:
    """Returns values from a YAML file or a table as a record, or raises TickdiskError.

    Its message begins with `where`, says which key is wrong, and ends with `advice`.
    """
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise TickdiskError(f"{where}: {problem(error)}; {advice}") from error


def problem(error: ValidationError, tags: Container[str | int] = ()) -> str:
    """Returns the first fault of a value that does not fit its record: the key, and what is wrong there.

    `tags` are names by which a union tells its types apart, which are no keys.
    """
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if part not in tags)
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    message = first["msg"].removeprefix("Value error, ") + more
    match first["type"]:
        case "extra_forbidden":
            return f"unknown key {key}{more}"
        case "missing":
            return f"key {key} is missing{more}"
        case "json_invalid":
            return f"not JSON ({first['ctx']['error']})"
        case _ if isinstance(first["input"], dict | list):
            return f"key {key}: {message}" if key else message
        case _:
            return f"{key or 'the whole'} = {first['input']!r} is not acceptable: {message}"
