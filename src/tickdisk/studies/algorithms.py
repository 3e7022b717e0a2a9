"""The published names of the algorithms that save a game's state."""

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "naive_snapshot": "Naive-Snapshot",
    "dribble_and_copy_on_update": "Dribble-and-Copy-on-Update",
    "atomic_copy_dirty_objects": "Atomic-Copy-Dirty-Objects",
    "partial_redo": "Partial-Redo",
    "copy_on_update": "Copy-on-Update",
    "copy_on_update_partial_redo": "Copy-on-Update-Partial-Redo",
    "zigzag": "Zigzag",
    "ping_pong": "Ping-Pong",
    "calc": "CALC",
    "hourglass": "Hourglass",
    "piggyback": "Piggyback",
    "fork": "fork(2)",
}
"""Published name of each algorithm, in the order of tables and figures. The cost model covers the first six algorithms."""
