"""Writes the player trace of a life: the behaviour of its players, the injected stalls of the processor, and markers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk import player
from tickdisk.config import Cell
from tickdisk.experiment import Bursts, PlannedLife
from tickdisk.foundation.errors import TickdiskError
from tickdisk.server import WorldFacts, named

_S = 1_000_000_000
_MARKED = "p000"
TAIL_S = 1.0
"""Time after the last epoch for the second marker, before the players leave."""


@dataclass(frozen=True)
class LifeTrace:
    """The facts about a player trace that `write_life_trace` wrote, for the record of the life."""

    events: int
    """Number of actions, which is the number of records that the clients owe."""
    phases: tuple[player.Phase, ...]
    """Phases of the trace. Empty if the behaviour has none."""


def write_life_trace(path: Path, cell: Cell, life: PlannedLife, world: WorldFacts) -> LifeTrace:
    """Writes the player trace of a server life to `path`. The same cell, life and world give the same bytes.

    A player asks for a marker before the first epoch and after the last one, so that the run can check that all instruments
    share one clock. A life that begins with its first epoch has only the second marker.
    """
    design, places, seconds = cell.resolved.design, world.places, life.seconds + TAIL_S
    if life.players is not None:
        design = {**design, "players": life.players}
    if life.in_steps:
        design = {**design, **_steps(life, design["join_period_s"])}
    if life.in_bursts:
        corners = named(cell.server).corners(world)
        bursts = _bursts(life, Bursts.model_validate(design), places, corners)
        design = {**design, "players": 1, "joining": design["players"], "bursts": bursts}
        # The player of the burns has its place behind the one who stays.
        places = (*places, *corners)
    burns = _burns(life, design, seconds)
    if burns and not life.in_bursts:  # The player that keeps the processor busy has a place of its own.
        places = (*places[: design["players"]], *places[design["players"] + 1 :])
    acts = player.BEHAVIOURS[cell.resolved.behaviour](places, design, life.trace_seed, seconds)
    markers = [_marker(1, life.epochs[-1].end_s)]
    if life.epochs[0].start_s > 0:
        markers.append(_marker(0, life.epochs[0].start_s - TAIL_S))
    return LifeTrace(player.write_trace(path, [*acts.events, *burns, *markers]), tuple(acts.phases))


def _steps(life: PlannedLife, join_period_s: float) -> dict[str, Any]:
    """Returns the number of players of a life in which it goes up from epoch to epoch, and the times in s of their joins.

    The players of the first epoch join at the start of the trace.
    """
    joins_s: list[float] = []
    for epoch in life.epochs:
        first_s = epoch.start_s if joins_s else 0.0
        joins_s += [first_s + join_period_s * number for number in range((epoch.players or 0) - len(joins_s))]
    return {"players": len(joins_s), "joins_s": joins_s}


def _bursts(
    life: PlannedLife, design: Bursts, places: Sequence[Sequence[int]], corners: Sequence[Sequence[int]]
) -> list[dict[str, Any]]:
    """Returns the first burst, which is not analysed, and that of each epoch, as arguments of `join_burst`.

    All bursts use the corners of regions, which are the last places, because the server has dropped their terrain again.
    Without corners, each burst uses places of its own. The first two places are those of other players.
    """
    players = design.players
    if 0 < len(corners) < players:
        raise TickdiskError(
            f"the world has {len(corners)} corners of regions; enlarge it, or let fewer than {players} players join"
        )
    joins_s, leaves_s = design.first_burst()
    spans = [(joins_s, design.slowest_s, leaves_s)]
    spans += [(epoch.steady_s, epoch.burst_s or 0.0, epoch.end_s) for epoch in life.epochs]
    return [
        {
            "at_s": at_s,
            "burst_s": burst_s,
            "stay_s": end_s - at_s - burst_s,
            "first": len(places) if corners else 2 + number * players,
        }
        for number, (at_s, burst_s, end_s) in enumerate(spans)
    ]


def _burns(life: PlannedLife, design: Mapping[str, Any], end_s: float) -> list[player.Event]:
    """Returns the actions of one more player, who joins, keeps the server's processor busy at each injected stall, and leaves."""
    name = player.player_name(design["players"])
    burns = [
        player.Event(round(injection.due_s * _S), name, "burn", (("milliseconds", injection.length_ms),))
        for injection in life.injections
        if injection.kind == "cpu_stall"
    ]
    return [player.Event(0, name, "join"), *burns, player.Event(round(end_s * _S), name, "leave")] if burns else []


def _marker(number: int, due_s: float) -> player.Event:
    return player.Event(round(due_s * _S), _MARKED, "marker", (("number", number),))
