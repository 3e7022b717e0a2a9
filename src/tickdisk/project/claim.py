"""One workflow at a time in a results folder: the kernel releases the claim when its holder dies, however it dies."""

import fcntl
import os
from pathlib import Path

from tickdisk.errors import TickdiskError

_held: list[int] = []


def claim(results: Path) -> None:
    """Claims `results` for this process until it ends; TickdiskError names the process that holds it already."""
    results.mkdir(parents=True, exist_ok=True)
    path = results / ".claim"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 32).decode().strip() or "unknown"
        os.close(descriptor)
        raise TickdiskError(
            f"another run (process {holder}) works in {results}; wait for it or end it with `kill {holder}`"
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    _held.append(descriptor)
