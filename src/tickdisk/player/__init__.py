"""Players: behaviours become traces, and network clients act them out on a server."""

from tickdisk.player.drive import ACTIONS, STATUS, TIMEOUT_S, binary, read_actions, read_status, start_players
from tickdisk.player.explore import explore
from tickdisk.player.trace import Event, join_burst, player_name, read_trace, roam, write_trace

__all__ = [
    "ACTIONS",
    "STATUS",
    "TIMEOUT_S",
    "Event",
    "binary",
    "explore",
    "join_burst",
    "player_name",
    "read_actions",
    "read_status",
    "read_trace",
    "roam",
    "start_players",
    "write_trace",
]
