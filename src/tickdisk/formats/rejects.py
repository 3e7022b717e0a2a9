"""Keeps the lines of a trace that cannot be read, each with its number and the reason."""

import os
from pathlib import Path
from typing import IO, Self

from tickdisk.foundation.errors import TickdiskError

HEAD = b"# trace\tline\treason\ttext\n"


def is_rejects(path: Path) -> bool:
    """Returns whether a file has lines that an earlier reading rejected, so that the next one may replace it."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(HEAD)) == HEAD


class Rejects:
    """A file with the lines of traces that cannot be read. If its path is None, no lines are kept.

    It is made when the first such line is kept, and appears under its final name when the context ends. If the context ends with
    an exception that is not a TickdiskError, such as Ctrl-C, no file is left.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._partial = None if path is None else path.with_name(f".{path.name}.{os.getpid()}.partial")
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._file is not None and self.path is not None and self._partial is not None:
            self._file.close()
            if kind is None or issubclass(kind, TickdiskError):
                self._partial.replace(self.path)
            else:
                self._partial.unlink()

    def keep(self, trace: str, line: int, reason: str, text: bytes) -> None:
        """Keeps one line, with its number, which counts from 1, and the reason why it cannot be read."""
        if self._partial is None:
            return
        if self._file is None:
            self._file = self._partial.open("wb")
            self._file.write(HEAD)
        self._file.write(b"\t".join([os.fsencode(trace), str(line).encode(), reason.encode(), text]) + b"\n")
