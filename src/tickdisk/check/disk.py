"""Traces the requests of the disk on which a server keeps its files, while the server is captured."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd

from tickdisk import trace
from tickdisk.foundation.errors import TickdiskError

_WRITES = os.O_WRONLY | os.O_RDWR
_MOST_FILES = 50
_NO_FILES = ("/dev/", "/proc/", "/sys/", "/memfd:")
_BLOCK = Path("/sys/dev/block")


def disk_of(pid: int) -> Path | None:
    """Returns the disk on which a process has most files open for writing, or that of its working folder, or None.

    A partition belongs to its disk, and a device of the device mapper to the one below it. There is none if the file system does
    not lie on one block device, or if the device has no file in /dev.
    """
    numbers = Counter[int]()
    folder = Path(f"/proc/{pid}")
    with suppress(OSError):
        numbers[(folder / "cwd").stat().st_dev] += 1
    with suppress(OSError):
        for link in (folder / "fd").iterdir():
            with suppress(OSError, ValueError, IndexError):
                flags = int((folder / "fdinfo" / link.name).read_text().split("flags:")[1].split()[0], 8)
                if flags & _WRITES and link.is_file() and str(link.readlink()).startswith("/"):
                    numbers[link.stat().st_dev] += 2
    return next(filter(None, (_disk(number) for number, _ in numbers.most_common())), None)


def disk_of_requests(pid: int, requests: pd.DataFrame) -> Path | None:
    """Returns the disk of the files for which the requests of a process took longest, or None if it is not known."""
    taken = requests.groupby("file")["latency_ns"].sum().nlargest(_MOST_FILES)
    times = Counter[int]()
    for file, ns in taken.items():
        path = Path(f"/proc/{pid}/root{file}")
        with suppress(OSError):
            if str(file).startswith("/") and not str(file).startswith(_NO_FILES):
                times[(path if path.exists() else path.parent).stat().st_dev] += int(ns)
    return next(filter(None, (_disk(number) for number, _ in times.most_common())), None)


def _disk(number: int) -> Path | None:
    folder = _BLOCK / f"{os.major(number)}:{os.minor(number)}"
    if not folder.is_dir():
        return None
    place = folder.resolve()
    while below := sorted((place / "slaves").glob("*")):
        if len(below) > 1:
            return None
        place = below[0].resolve()
    if (place / "partition").exists():
        place = place.parent
    path = Path("/dev") / place.name.replace("!", "/")
    return path if path.is_block_device() else None


@contextmanager
def traced(
    disk: Path | None, folder: Path, logs: Path, found: list[tuple[Path, trace.BlockRequests]]
) -> Iterator[trace.BlockTrace | None]:
    """Traces a disk during the block, and adds it to `found` with its requests.

    Nothing is added if there is no disk, or if its requests cannot be traced, because a check goes on without them.
    """
    try:
        running = None if disk is None else trace.BlockTrace(disk, folder / "blocks.txt", logs, None)
    except (TickdiskError, OSError):
        running = None
    if disk is None or running is None:
        yield None
        return
    try:
        yield running
    finally:  # Ctrl-C keeps what was traced.
        with suppress(TickdiskError, OSError):
            found.append((disk, running.stop()))
        running.kill()
