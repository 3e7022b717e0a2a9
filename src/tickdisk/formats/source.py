"""Gives the bytes of trace files, which may be compressed."""

import gzip
import lzma
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, cast

import zstandard

from tickdisk.foundation.errors import TickdiskError

PART_BYTES = 1 << 22
"""Number of bytes that are read at once."""
_ZSTD_PART_BYTES = 1 << 18
"""Number of compressed bytes that are decompressed at once. Their content may be many times as large."""
STDIN = Path("-")
_GZIP, _ZSTD, _XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00"


class TraceSource:
    """The bytes of a trace file, decompressed if they are compressed with gzip, zstd or xz. `-` is the standard input."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.total_bytes = None if path == STDIN or not path.is_file() else path.stat().st_size
        """Size of the file, or None if it is not known."""
        self.read_bytes = 0
        """Number of bytes of the file that have been read."""

    def parts(self) -> Generator[bytes]:
        """Yields the content in parts of a few megabytes, which may begin and end within a line.

        Raises TickdiskError if there is no such file, it is empty, or its compression is damaged or cut off.
        """
        with self._opened() as file:
            counted = _Counted(file, self)
            first = counted.read(PART_BYTES)
            if not first:
                raise TickdiskError(f"{self._path} is empty; give a trace with at least one line")
            try:
                yield from _decompressed(first, counted)
            except (EOFError, lzma.LZMAError, zstandard.ZstdError, OSError) as error:
                raise TickdiskError(f"{self._path} cannot be decompressed ({error}); the file is damaged or cut off") from error

    def _opened(self) -> IO[bytes]:
        if self._path == STDIN:
            return sys.stdin.buffer
        try:
            return self._path.open("rb")
        except OSError as error:
            raise TickdiskError(
                f"{self._path} cannot be read ({error.strerror}); give a trace file, or - for the standard input"
            ) from error


class _Counted:
    """A file that is read from its beginning again, and counts the bytes that were read."""

    def __init__(self, file: IO[bytes], source: TraceSource) -> None:
        self._file, self._source = file, source
        self._again = b""

    def read(self, size: int = -1) -> bytes:
        if self._again:
            part, self._again = self._again[:size] if size >= 0 else self._again, self._again[size:] if size >= 0 else b""
            return part
        part = self._file.read(size)
        self._source.read_bytes += len(part)
        return part

    def again(self, first: bytes) -> "_Counted":
        self._again = first
        return self


def _decompressed(first: bytes, file: _Counted) -> Iterator[bytes]:
    """Yields the decompressed content. `first` are the bytes that were read from the file already."""
    opened = cast("IO[bytes]", file.again(first))
    if first.startswith(_ZSTD):
        yield from _of_zstd(opened)
        return
    if first.startswith(_GZIP):
        opened = cast("IO[bytes]", gzip.GzipFile(fileobj=opened))
    elif first.startswith(_XZ):
        opened = cast("IO[bytes]", lzma.LZMAFile(opened))  # noqa: SIM115 - `parts` closes the file below it
    while part := opened.read(PART_BYTES):
        yield part


def _of_zstd(file: IO[bytes]) -> Iterator[bytes]:
    """Yields the content of all parts of a file. The library's own reader takes a part that is cut off for a whole one."""
    inner = zstandard.ZstdDecompressor().decompressobj()
    is_begun = False
    while part := file.read(_ZSTD_PART_BYTES):
        while part:
            if content := inner.decompress(part):
                yield content
            is_begun = not inner.eof
            part = inner.unused_data if inner.eof else b""
            if inner.eof:
                inner = zstandard.ZstdDecompressor().decompressobj()
    if is_begun:
        raise EOFError("its last part has no end")
