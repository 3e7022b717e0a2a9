"""Acts out a player trace on a server, without an emulated device, to build a world or to record what players do."""

import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from tickdisk import player, server
from tickdisk.foundation.errors import TickdiskError

_LEAD_S = 1.0
_DRAIN_S = 60.0
"""Time after the last due time for actions that are still under way."""
_STOP_S = 60.0


@dataclass(frozen=True)
class Acted:
    """The outcome of a player trace that was acted out."""

    outcomes: dict[tuple[str, str], int]
    """Number of actions by kind and outcome."""
    problems: list[str]
    """Problems of the server in words, as `RunningServer.stop` returns them."""


def act_out(
    kind: server.Server, world: Path, trace: Path, folder: Path, *, port: int, keep: Path | None, record: Path | None
) -> Acted:
    """Starts a server on a copy of a world, lets players act out a trace, and ends the server.

    `folder` is an empty folder for the files of all programs, and for the copy. The folder `keep` takes the world as the players
    left it, which appears whole or not at all, and None drops it. The file `record` takes a player trace of what the server saw
    them do. Raises TickdiskError if the server does not start, if it has no recorder, or if the clients fail.
    """
    kind.check()
    expected = len(trace.read_text(encoding="utf-8").splitlines())
    if keep is None:
        return _act(kind, world, folder / "world", trace, expected, folder, port, record)
    if (keep / server.WORLD_FILE).exists():
        raise TickdiskError(f"{keep} holds a world; remove it or name another folder")
    with server.whole_folder(keep) as partial:
        return _act(kind, world, partial, trace, expected, folder, port, record)


def _act(
    kind: server.Server, world: Path, copy: Path, trace: Path, expected: int, folder: Path, port: int, record: Path | None
) -> Acted:
    fast, logs = folder / "fast", folder / "logs"
    server.copy_world(world, copy)
    with nullcontext({}) if record is None else kind.recording(copy, record) as settings:
        running = kind.start(copy, port=port, folder=fast, logs=logs, settings=settings)
        try:
            started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
            with player.start_players(kind.clients, f"127.0.0.1:{port}", trace, started_ns, fast, logs) as clients:
                last_s = player.last_due_ns(trace) / 1e9
                if clients.wait(_LEAD_S + last_s + _DRAIN_S) is None or not (fast / player.STATUS).exists():
                    raise TickdiskError(f"the clients of {kind.title} ended without a record: {clients.tail(3)}")
            problems = running.stop(_STOP_S)
        finally:
            running.kill()
    actions = player.read_actions(fast / player.ACTIONS, expected=expected)
    counted = Counter(zip(actions["action"].tolist(), actions["outcome"].tolist(), strict=True))
    return Acted({(str(action), str(outcome)): count for (action, outcome), count in counted.items()}, problems)
