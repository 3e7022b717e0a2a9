"""Starts and stops servers at a rate, as a host does that starts a server when somebody wants to play (PokeSto, section 4)."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from tickdisk import server
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run.cache import forget

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
        raise TickdiskError(
            f"{instances} copies of the world are more than the {_MOST_AT_ONCE} that are allowed; lower the number"
        )
    kind.check()
    copies = [folder / f"instance{number}" for number in range(instances)]
    for copy in copies:
        server.copy_world(world, copy)
        forget(copy)
    started = time.monotonic() + 0.5

    failed = Event()

    def run(number: int) -> Provisioned | None:
        due_s = number / per_s
        if failed.wait(max(0.0, started + due_s - time.monotonic())):
            return None
        own = fast / f"instance{number}"
        try:
            running = kind.start(copies[number], port=port + number, folder=own, logs=own / "logs")
        except TickdiskError:
            failed.set()  # The other servers are stopped at once, and no further one is started.
            raise
        try:
            ready_s = time.monotonic() - started - due_s
            failed.wait(stay_s)
            asked = time.monotonic()
            problems = running.stop(_STOP_S)
        finally:
            running.kill()
        return Provisioned(number, due_s, ready_s, time.monotonic() - asked, tuple(problems))

    with ThreadPoolExecutor(instances) as threads:
        try:
            return [one for one in threads.map(run, range(instances)) if one is not None]
        except BaseException:
            failed.set()
            raise
