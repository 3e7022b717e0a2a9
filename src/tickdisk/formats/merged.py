"""Gives the lines of the files that strace writes with the option -ff, one file for each thread, as one trace."""

import heapq
import re
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path

from tickdisk.formats.source import TraceSource
from tickdisk.foundation.errors import TickdiskError

_NUMBERED = re.compile(r".+\.(\d+)")
_STAMP = re.compile(rb"\s*(\d{9,}(?:\.\d+)?|\d{1,2}:\d\d:\d\d(?:\.\d+)?) ")
_ADDED = (b" > ", b" | ", b" * ")
"""Beginnings of lines that belong to the line before, such as those of a stack."""
_LINES = 1 << 15
"""Number of lines that are given at once."""


def is_numbered(folder: Path) -> bool:
    """Tells whether all files in a folder are named as strace does with -ff, by the number of a thread after the last dot."""
    files = files_in(folder)
    return bool(files) and all(_NUMBERED.fullmatch(path.name) for path in files)


def files_in(folder: Path) -> list[Path]:
    """Returns the files in a folder, in the order of their names."""
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


class MergedSource:
    """The files of a folder that strace has written with -ff, merged by the times at the beginning of their lines. Each line gets
    the number of its thread, so that the lines are those of a trace with -f.
    """

    def __init__(self, folder: Path) -> None:
        self._sources = {path: TraceSource(path) for path in files_in(folder)}
        self.total_bytes = sum(source.total_bytes or 0 for source in self._sources.values())
        """Size of all files."""

    @property
    def read_bytes(self) -> int:
        """Number of bytes of the files that have been read."""
        return sum(source.read_bytes for source in self._sources.values())

    def parts(self) -> Generator[bytes]:
        """Yields many lines at once, or raises TickdiskError if a file is empty or damaged, or a line has no time."""
        lines = heapq.merge(*(_stamped(path, source) for path, source in self._sources.items()), key=lambda line: line[0])
        while part := b"".join(line for _, line in islice(lines, _LINES)):
            yield part


def _stamped(path: Path, source: TraceSource) -> Iterator[tuple[bytes, bytes]]:
    """Yields the time and the text of each line, with the number of its thread before it."""
    numbered = _NUMBERED.fullmatch(path.name)
    thread = numbered[1].encode() if numbered else b""
    time = b""
    for number, line in enumerate(_lines(source), start=1):
        if line.startswith(_ADDED):
            yield time, line + b"\n"
            continue
        stamp = _STAMP.match(line)
        if stamp is None:
            raise TickdiskError(
                f"{path}, line {number}: no time by which files of threads can be merged; write them with -ff -ttt or -ff -tt"
            )
        time = stamp[1]
        yield time, b"%s %s\n" % (thread, line.lstrip())


def _lines(source: TraceSource) -> Iterator[bytes]:
    rest = b""
    for part in source.parts():
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
    if rest:
        yield rest
