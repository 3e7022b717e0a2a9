"""The published names of the algorithms that keep a game's state, and the study that compared the first six of them."""

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
"""In the order in which tables and figures show them; the cost model knows the first six."""
CITED = "Vaz Salles et al. 2009"
"""The source of a claim about a published number."""
