"""The true speed of a disk that was made slow on purpose, with which its profile can be compared."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tickdisk.foundation.record import Record, read, write

_TRUTH = ".tickdisk-truth.json"
"""Name of the file on the disk itself, so that it is of no other disk. Neither profiling nor a server life reads it."""


class DiskTruth(Record):
    """The delays of a disk that was made slow on purpose. The time that its other layers add comes on top."""

    read_ms: Annotated[float, Field(gt=0)]
    """Time by which each read is delayed."""
    write_ms: Annotated[float, Field(gt=0)]
    """Time by which each write is delayed."""
    bandwidth_bytes_per_s: Annotated[int, Field(gt=0)]
    """Rate to which reads and writes are limited, each for itself."""


def write_truth(disk: Path, truth: DiskTruth) -> None:
    """Writes the truth about a disk into a file in its folder `disk`."""
    write(disk / _TRUTH, truth)


def read_truth(disk: Path) -> DiskTruth | None:
    """Returns the truth about the disk with the folder `disk`, or None if nobody knows it or the disk is gone."""
    with suppress(OSError):
        if (disk / _TRUTH).exists():
            return read(DiskTruth, disk / _TRUTH, "make the slow disk again")
    return None
