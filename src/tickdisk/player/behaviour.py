"""The behaviours of players, by the names that experiments give in the registry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tickdisk.player.edits import build
from tickdisk.player.explore import Phase, explore
from tickdisk.player.trace import Event, Place, join_burst, roam

_ROAMING = ("players", "teleport_period_s", "edit_period_s", "ping_period_s", "join_period_s", "joins_s", "hot_places")
_LEAVE_PERIOD_S = 0.02
"""Time from one player's leave to the next after a burst of many."""


@dataclass(frozen=True)
class Acts:
    """The result of a behaviour: all that the players of one server life are to do."""

    events: list[Event]
    """Actions of all players, which `write_trace` turns into a player trace."""
    phases: Sequence[Phase] = ()
    """Parts of the trace in which players do one kind of thing. Only the behaviour `explore` has them."""


def _roam(places: Sequence[Place], design: Mapping[str, Any], seed: int, seconds: float) -> Acts:
    return Acts(roam(places, seed=seed, seconds=seconds, **{name: design[name] for name in _ROAMING if name in design}))


def _build(places: Sequence[Place], design: Mapping[str, Any], seed: int, seconds: float) -> Acts:
    return Acts(build(places, seed=seed, seconds=seconds, **{name: design[name] for name in _ROAMING if name in design}))


def _join_burst(places: Sequence[Place], design: Mapping[str, Any], seed: int, seconds: float) -> Acts:
    del seed
    burst_s = design["burst_s"]
    return Acts(join_burst(places, players=design["players"], burst_s=burst_s, stay_s=seconds - burst_s))


def _bursts(places: Sequence[Place], design: Mapping[str, Any], seed: int, seconds: float) -> Acts:
    """Plans one player who stays, and bursts of others, each with the arguments of `join_burst` in the design."""
    del seed
    events = join_burst(places, players=1, burst_s=1.0, stay_s=seconds - 1.0)
    for burst in design["bursts"]:
        events += join_burst(places, players=design["joining"], leave_period_s=_LEAVE_PERIOD_S, **burst)
    return Acts(sorted(events))


def _explore(places: Sequence[Place], design: Mapping[str, Any], seed: int, seconds: float) -> Acts:
    explored = explore(places, seed=seed, players=design["players"], seconds=seconds)
    return Acts(explored.events, explored.phases)


BEHAVIOURS: Mapping[str, Callable[[Sequence[Place], Mapping[str, Any], int, float], Acts]] = {
    "roam": _roam,
    "build": _build,
    "join_burst": _join_burst,
    "bursts": _bursts,
    "explore": _explore,
}
"""Behaviours by name. A behaviour is a function that plans what all players do in a server life.

It takes the places of the world, the design of the experiment as it stands in the plan, the seed of the trace, and the length of
the trace in seconds.
"""
