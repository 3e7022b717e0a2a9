"""The player trace of a life: which behaviours, on which places of the world."""

from pathlib import Path
from typing import Any

from tickdisk import player
from tickdisk.config import Cell, Life

_S = 1_000_000_000
_MARKED = "p000"
TAIL_S = 1.0
"""After the last epoch, for the second marker, before the players leave."""


def write_life_trace(path: Path, cell: Cell, life: Life, world: dict[str, Any]) -> int:
    """Writes the trace and returns how many events it has; the same cell and life give the same bytes.

    Markers, before the first and after the last epoch (a join burst has only the latter), let the run check that all instruments
    share one clock.
    """
    design = cell.resolved["design"]
    if cell.experiment == "join_burst":
        events = player.join_burst(
            world["places"], players=design["players"], burst_s=design["burst_s"], stay_s=design["stay_s"] + TAIL_S
        )
    else:
        behaviour = {name: design[name] for name in ("teleport_period_s", "edit_period_s", "ping_period_s")}
        events = player.roam(
            world["places"], seed=life.trace_seed, players=design["players"], seconds=life.seconds + TAIL_S, **behaviour
        )
        events.append(_marker(0, life.epochs[0].start_s - TAIL_S))
    events.append(_marker(1, life.epochs[-1].end_s))
    return player.write_trace(path, events)


def _marker(number: int, due_s: float) -> player.Event:
    return player.Event(round(due_s * _S), _MARKED, "marker", (("number", number),))
