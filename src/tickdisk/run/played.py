"""A world in which players have been, so that its databases are whole on the disk before a server life begins."""

import time
from collections.abc import Mapping
from pathlib import Path

from tickdisk import player
from tickdisk.config import digest
from tickdisk.foundation import host, memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run.stage import Stage
from tickdisk.server import WORLD_FILE, copy_world, whole_folder

_JOIN_PERIOD_S = 0.1
_STAY_S = 2.0
_LEAD_S = 0.5
_PATIENCE_S = 30.0
_STOP_S = 60.0


def played_world(stage: Stage, world: Path) -> Path:
    """Returns a copy of a world in which the players of the life have played, and whose server was stopped in the normal way.

    It lies beside the world, where the first life that needs it makes it on the machine's own disk, and is named after the number
    of players and the code of the cell. A server makes the tables of its players when the first of them joins. A power cut right
    after that would damage a new server, which is not the one that operators have. Raises TickdiskError if the server does not
    end in order.
    """
    played = played_name(world, _players(stage), stage.cell.resolved.code)
    if not (played / WORLD_FILE).exists():
        with whole_folder(played) as partial:
            copy_world(world, partial)
            _play(stage, partial)
    return played


def played_name(world: Path, players: int, code: Mapping[str, str]) -> Path:
    """Returns the folder of the copy of a world in which a number of players have played.

    `code` has the versions and digests of the server, of the clients and of this package.
    """
    return world.with_name(f"{world.name}-played-{players}-{digest(dict(code))}")


def _players(stage: Stage) -> int:
    return int(stage.cell.resolved.design["players"])


def _play(stage: Stage, world: Path) -> None:
    logs, count = stage.logs / "played", _players(stage)
    names = [player.player_name(number) for number in range(count)]
    end_ns = round((_JOIN_PERIOD_S * count + _STAY_S) * 1e9)
    joins = [player.Event(round(_JOIN_PERIOD_S * number * 1e9), name, "join") for number, name in enumerate(names)]
    events = [*joins, *(player.Event(end_ns, name, "leave") for name in names)]
    with memory.folder() as fast:
        trace = fast / "players.jsonl"
        player.write_trace(trace, events)
        running = stage.server.start(
            world, port=stage.project.config.port, folder=fast, logs=logs, cores=host.split_cores().server
        )
        try:
            started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
            with player.start_players(
                stage.server.clients, stage.address, trace, started_ns, fast, logs, host.split_cores().clients
            ) as players:
                code = players.wait(_LEAD_S + end_ns / 1e9 + _PATIENCE_S)
            problems = running.stop(_STOP_S)
        finally:
            running.kill()
    if code != 0 or problems:
        found = problems[0] if problems else f"the players ended with exit code {code}"
        raise TickdiskError(f"players could not play on {world} before a life: {found}; the logs are in {logs}")
