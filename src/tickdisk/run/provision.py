"""Starts and stops servers at a rate, as a host does that starts a server when somebody wants to play (PokeSto, section 4)."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tickdisk import server
from tickdisk.foundation.errors import TickdiskError

_STOP_S = 60.0
_MOST_AT_ONCE = 32


@dataclass(frozen=True)
class Provisioned:
    """One server that was started and stopped."""

    instance: int
    due_s: float
    """Time from the first start at which it was to be started."""
    start_s: float
    """Time from then until it accepted players."""
    stop_s: float
    """Time from the order to end until it had saved its world and ended."""
    problems: tuple[str, ...]


def provision(
    kind: server.Server, world: Path, folder: Path, fast: Path, *, port: int, per_s: float, instances: int, stay_s: float
) -> Sequence[Provisioned]:
    """Starts `instances` servers, `per_s` of them a second, each on a copy of a world, and stops each `stay_s` after it is ready.

    `folder` lies on the disk in question and takes the copies, which are removed again. `fast` lies in memory and takes the files
    of the programs. Server N listens on 127.0.0.1:`port` + N. Raises TickdiskError if a server does not start, or if more than 32
    would run at once.
    """
    if instances > _MOST_AT_ONCE:
        raise TickdiskError(f"{instances} copies of the world are more than the {_MOST_AT_ONCE} that are allowed; lower the number")
    kind.check()
    copies = [folder / f"instance{number}" for number in range(instances)]
    for copy in copies:
        server.copy_world(world, copy)
        _forget(copy)
    started = time.monotonic() + 0.5

    def run(number: int) -> Provisioned:
        due_s = number / per_s
        time.sleep(max(0.0, started + due_s - time.monotonic()))
        own = fast / f"instance{number}"
        running = kind.start(copies[number], port=port + number, folder=own, logs=own / "logs")
        try:
            ready_s = time.monotonic() - started - due_s
            time.sleep(stay_s)
            asked = time.monotonic()
            problems = running.stop(_STOP_S)
        finally:
            running.kill()
        return Provisioned(number, due_s, ready_s, time.monotonic() - asked, tuple(problems))

    with ThreadPoolExecutor(instances) as threads:
        return list(threads.map(run, range(instances)))


def _forget(folder: Path) -> None:
    """Writes the files of a folder to the disk and drops them from memory, so that they are read from the disk next time."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
