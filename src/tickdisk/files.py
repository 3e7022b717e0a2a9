"""Files that appear under their final name only when they are whole."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tickdisk.errors import TickdiskError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on success it is renamed to `path`, on any exception it is removed.

    The file is flushed to storage before the rename, so that a crash leaves the old file or the new one.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise TickdiskError(f"cannot write {path}: {error.strerror or error}; free space or choose another folder") from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes `text` to `path`, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as indented JSON with sorted keys, whole or not at all; NaN and infinities are errors."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Returns the JSON value in `path`; TickdiskError names the file and the line that does not parse."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; run the step that writes it") from error
    except json.JSONDecodeError as error:
        raise TickdiskError(f"{path}, line {error.lineno}: not JSON ({error.msg}); remove the file and run again") from error
