"""A lock on a results folder, which the kernel releases when its holder dies, however it dies."""

import fcntl
import os
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

_held: list[int] = []
"""Descriptors of the files whose locks this process holds. They stay open until it ends."""


def claim(results: Path) -> None:
    """Locks a results folder until this process ends, so that no other workflow works in it. The folder is made if needed.

    Raises TickdiskError if another process holds it.
    """
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
