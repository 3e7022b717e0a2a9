"""Makes player traces from behaviours, and drives network clients that act them out on a server.

A trace is a file with one action of one player per line, each with its due time (`Event`, `write_trace`, `read_trace`).
`BEHAVIOURS` has the behaviours that experiments name, such as `roam`, and `make` makes traces of those in `GENERATED`, such as
`exploration`. `start_players` starts the clients, and `read_actions` reads what became of each action. After `build`,
`placed_blocks` says where blocks were placed and which of them the server acknowledged, and in a later life players can look
whether they are still there (`look_around`, `looks`).
"""

from tickdisk.player.behaviour import BEHAVIOURS, Acts
from tickdisk.player.drive import ACTIONS, AIR, OTHER, PLACED, REFUSED, STATUS, TIMEOUT_S, binary, read_actions, start_players
from tickdisk.player.edits import look_around, looks, placed_blocks
from tickdisk.player.explore import Phase
from tickdisk.player.generate import GENERATED, Behaviour, Workload, make
from tickdisk.player.status import ClientStatus, read_status
from tickdisk.player.trace import Event, last_due_ns, player_name, roam, write_trace

__all__ = [
    "ACTIONS",
    "AIR",
    "BEHAVIOURS",
    "GENERATED",
    "OTHER",
    "PLACED",
    "REFUSED",
    "STATUS",
    "TIMEOUT_S",
    "Acts",
    "Behaviour",
    "ClientStatus",
    "Event",
    "Phase",
    "Workload",
    "binary",
    "last_due_ns",
    "look_around",
    "looks",
    "make",
    "placed_blocks",
    "player_name",
    "read_actions",
    "read_status",
    "roam",
    "start_players",
    "write_trace",
]
