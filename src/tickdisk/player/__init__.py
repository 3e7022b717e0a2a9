"""Makes player traces from behaviours, and drives network clients that act them out on a server.

A trace is a file with one action of one player per line, each with its due time (`Event`, `write_trace`, `read_trace`).
`BEHAVIOURS` has the behaviours that experiments name, such as `roam`. `start_players` starts the clients, and `read_actions`
reads what became of each action.
"""

from tickdisk.player.behaviour import BEHAVIOURS, Acts
from tickdisk.player.drive import ACTIONS, STATUS, TIMEOUT_S, binary, read_actions, start_players
from tickdisk.player.explore import Phase
from tickdisk.player.status import ClientStatus, read_status
from tickdisk.player.trace import Event, player_name, roam, write_trace

__all__ = [
    "ACTIONS",
    "BEHAVIOURS",
    "STATUS",
    "TIMEOUT_S",
    "Acts",
    "ClientStatus",
    "Event",
    "Phase",
    "binary",
    "player_name",
    "read_actions",
    "read_status",
    "roam",
    "start_players",
    "write_trace",
]
