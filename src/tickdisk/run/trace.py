"""The player trace of a life: which behaviours, on which places of the world."""

from pathlib import Path
from typing import Any

from tickdisk import player
from tickdisk.config import Cell, Life


def write_life_trace(path: Path, cell: Cell, life: Life, world: dict[str, Any]) -> int:
    """Writes the trace and returns how many events it has; the same cell and life give the same bytes."""
    design = cell.resolved["design"]
    if cell.experiment == "join_burst":
        events = player.join_burst(world["places"], players=design["players"], burst_s=design["burst_s"], stay_s=design["stay_s"])
    else:
        events = player.roam(
            world["places"],
            seed=life.trace_seed,
            players=design["players"],
            seconds=life.seconds,
            **{name: design[name] for name in ("teleport_period_s", "edit_period_s", "ping_period_s")},
        )
    return player.write_trace(path, events)
