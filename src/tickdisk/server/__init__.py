"""Game servers: each is checked, given a world, started on it, recorded tick by tick and stopped; one module per server."""

from tickdisk.server.contract import DataType, RunningServer, Server
from tickdisk.server.log import check_log
from tickdisk.server.luanti import RADIUS_BLOCKS, SAVE_PERIOD_S, TICK_THREAD, Luanti, classify
from tickdisk.server.ticks import BUDGET_NS, Ticks, read_ticks
from tickdisk.server.world import WORLD_FILE, WorldSpec

__all__ = [
    "BUDGET_NS",
    "RADIUS_BLOCKS",
    "SAVE_PERIOD_S",
    "TICK_THREAD",
    "WORLD_FILE",
    "DataType",
    "Luanti",
    "RunningServer",
    "Server",
    "Ticks",
    "WorldSpec",
    "check_log",
    "classify",
    "read_ticks",
]
