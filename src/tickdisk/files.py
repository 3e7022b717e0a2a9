"""Writes files that are never seen half-written, and reads and writes JSON.

`whole` gives a temporary path to write to, and renames the file to its final name when it is complete and flushed to storage. If
the process is killed before, the final name still has the old file or none. `write_text` and `write_json` use it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tickdisk.errors import TickdiskError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path to write a file to, which becomes the file at `path` if the block succeeds.

    If the block raises an exception, the temporary file is removed. The file is flushed to storage before it is renamed, so that
    a crash leaves the old file or the new one.

    Parameters
    ----------
    path
        Final name of the file. Missing folders are made.

    Yields
    ------
    Path
        A temporary path in the folder of `path`. The block has to write the file there.

    Raises
    ------
    TickdiskError
        If the operating system refuses to write, for example because storage is full.
    OSError
        If the block cannot use another file, which the error names.
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
        raise TickdiskError(f"cannot write {path}: {error.strerror or error}; free space or choose another folder") from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file, whole or not at all.

    If the process dies before the end, the path still has its old file, or none.

    Parameters
    ----------
    path
        File to write.
    text
        Content of the file, which is encoded in UTF-8.
    """
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Writes a value to a file as indented JSON with sorted keys, whole or not at all.

    If the process dies before the end, the path still has its old file, or none.

    Parameters
    ----------
    path
        File to write.
    value
        Any value that JSON can hold.

    Raises
    ------
    ValueError
        If the value contains NaN or an infinite number.
    """
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Reads the value in a JSON file, such as one that `write_json` wrote.

    Parameters
    ----------
    path
        File to read, in UTF-8.

    Returns
    -------
    Any
        The value in the file.

    Raises
    ------
    TickdiskError
        If there is no such file, or if it is not JSON. The message then names the line or the byte.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; run the step that writes it") from error
    except json.JSONDecodeError as error:
        raise TickdiskError(f"{path}, line {error.lineno}: not JSON ({error.msg}); remove the file and run again") from error
    except UnicodeDecodeError as error:
        raise TickdiskError(f"{path}, byte {error.start}: not text in UTF-8; remove the file and run again") from error
