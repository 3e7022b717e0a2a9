"""Game servers. Each is checked, given a world, started on it, recorded tick by tick, and stopped.

`SERVERS` has the servers by name. `Server.make_world` generates a world once, with places for players, and `Server.start` returns
a `RunningServer` when the server accepts players. A probe inside the server records every tick as a numbered span, and
`read_ticks` reads the record.
"""

from tickdisk.server.change import Change, OptionalProgram, place_apart
from tickdisk.server.contract import (
    DataType,
    Needs,
    RunningServer,
    Saving,
    Server,
    ServerFacts,
    ServerProgram,
    ServerStart,
    Ticking,
)
from tickdisk.server.ready import PORT, require_free
from tickdisk.server.registry import SERVERS, classify, named
from tickdisk.server.ticks import TickCounts, Ticks, first_thread, read_ticks
from tickdisk.server.world import (
    MARKERS_FOLDER,
    WORLD_FILE,
    WorldFacts,
    WorldSpec,
    copy_world,
    read_world,
    whole_folder,
    write_world,
)

__all__ = [
    "MARKERS_FOLDER",
    "PORT",
    "SERVERS",
    "WORLD_FILE",
    "Change",
    "DataType",
    "Needs",
    "OptionalProgram",
    "RunningServer",
    "Saving",
    "Server",
    "ServerFacts",
    "ServerProgram",
    "ServerStart",
    "TickCounts",
    "Ticking",
    "Ticks",
    "WorldFacts",
    "WorldSpec",
    "classify",
    "copy_world",
    "first_thread",
    "named",
    "place_apart",
    "read_ticks",
    "read_world",
    "require_free",
    "whole_folder",
    "write_world",
]
