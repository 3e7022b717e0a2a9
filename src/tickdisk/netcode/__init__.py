"""Measures what network stacks cost a game: the same prototype of a game is served on several stacks, and players play on it.

A Rust program (`src/netcode`) holds the prototypes and the stacks. `live` runs one server between two network namespaces while
players come and go, `describe_steps` makes one row for each number of players of such a life, and `study` runs many lives.
`write_published` writes a life in the layout of Net-Celerity (Stroiou, Vrije Universiteit Amsterdam, 2024), a study that compared
other stacks in the same way.
"""

from tickdisk.netcode.life import Setting, live
from tickdisk.netcode.namespaces import Conditions, Network
from tickdisk.netcode.program import prototypes, stacks
from tickdisk.netcode.published import write_published
from tickdisk.netcode.schedule import Attendance, plan
from tickdisk.netcode.steps import describe_steps, steady_pings
from tickdisk.netcode.study import StackFindings, StackSizes, gather, read_study, study, write_study

__all__ = [
    "Attendance",
    "Conditions",
    "Network",
    "Setting",
    "StackFindings",
    "StackSizes",
    "describe_steps",
    "gather",
    "live",
    "plan",
    "prototypes",
    "read_study",
    "stacks",
    "steady_pings",
    "study",
    "write_published",
    "write_study",
]
