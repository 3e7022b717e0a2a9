"""Writes files that are never seen half-written, and reads and writes JSON."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tickdisk.foundation.errors import TickdiskError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path to write a file to, which becomes the file at `path` if the block succeeds.

    Missing folders are made. The file is flushed to storage before it is renamed, so that a crash leaves the old file or the new
    one. If the block raises an exception, the temporary file is removed. Raises TickdiskError if the operating system refuses to
    write. An OSError that names another file passes unchanged.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        if error.filename is not None and Path(os.fsdecode(error.filename)) not in (partial, path, path.parent):
            raise  # The block failed at another file.
        reason = os.strerror(error.errno) if error.errno else error
        raise TickdiskError(f"cannot write {path}: {reason}; free space or choose another folder") from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file in UTF-8, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Writes a value as indented JSON with sorted keys, whole or not at all. Raises ValueError for NaN and infinite numbers."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Returns the value in a JSON file. Raises TickdiskError if there is no such file, or if it is not JSON in UTF-8."""
    try:
        return json_of(path.read_text(encoding="utf-8"), str(path), "remove the file and run again")
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; run the step that writes it") from error
    except UnicodeDecodeError as error:
        raise TickdiskError(f"{path}, byte {error.start}: not text in UTF-8; remove the file and run again") from error


def json_of(text: str | bytes, where: str, advice: str) -> Any:
    """Returns the value of a JSON text.

    If it is not JSON, the message of the TickdiskError begins with `where` and ends with `advice`.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise TickdiskError(f"{where}, line {error.lineno}: not JSON ({error.msg}); {advice}") from error
    except RecursionError as error:
        raise TickdiskError(f"{where}: not JSON (it is nested too deeply); {advice}") from error
