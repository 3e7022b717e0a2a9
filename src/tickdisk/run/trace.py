"""The player trace of a life: which behaviours, on which places of the world."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tickdisk import player
from tickdisk.config import Cell, Life

_S = 1_000_000_000
_MARKED = "p000"
_BEHAVIOUR = ("players", "teleport_period_s", "edit_period_s", "ping_period_s")
TAIL_S = 1.0
"""After the last epoch, for the second marker, before the players leave."""


@dataclass(frozen=True)
class LifeTrace:
    """The number of events that were written, and the phases of a life that has phases."""

    events: int
    phases: list[dict[str, Any]]


def write_life_trace(path: Path, cell: Cell, life: Life, world: Mapping[str, Any]) -> LifeTrace:
    """Writes the trace of a life; the same cell and life give the same bytes.

    Markers, before the first and after the last epoch (only the latter where the life begins with its epoch), let the run check
    that all instruments share one clock.
    """
    design, places, seconds = cell.resolved["design"], world["places"], life.seconds + TAIL_S
    burns = _burns(life, design, seconds)
    phases: list[dict[str, Any]] = []
    if cell.experiment == "join_burst":
        stay_s = design["stay_s"] + TAIL_S
        events = [*player.join_burst(places, players=design["players"], burst_s=design["burst_s"], stay_s=stay_s), *burns]
    elif cell.experiment == "accesses":
        explored = player.explore(places, seed=life.trace_seed, players=design["players"], seconds=seconds)
        events, phases = explored.events, [asdict(phase) for phase in explored.phases]
    else:
        if burns:  # the player that keeps the processor busy has a place of its own
            places = [*places[: design["players"]], *places[design["players"] + 1 :]]
        behaviour = {name: design[name] for name in _BEHAVIOUR}
        events = [*player.roam(places, seed=life.trace_seed, seconds=seconds, **behaviour), *burns]
        events.append(_marker(0, life.epochs[0].start_s - TAIL_S))
    events.append(_marker(1, life.epochs[-1].end_s))
    return LifeTrace(player.write_trace(path, events), phases)


def _burns(life: Life, design: Mapping[str, Any], end_s: float) -> list[player.Event]:
    """One more player, who joins, keeps the server's processor busy at each injected stall of it, and leaves."""
    name = player.player_name(design["players"])
    burns = [
        player.Event(round(injection.due_s * _S), name, "burn", (("milliseconds", injection.length_ms),))
        for injection in life.injections
        if injection.kind == "cpu_stall"
    ]
    return [player.Event(0, name, "join"), *burns, player.Event(round(end_s * _S), name, "leave")] if burns else []


def _marker(number: int, due_s: float) -> player.Event:
    return player.Event(round(due_s * _S), _MARKED, "marker", (("number", number),))
