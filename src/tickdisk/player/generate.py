"""The generator of behaviours, for users without a player trace: what players do, how often, and in how many regions.

The behaviours and their units are those of PokeSto (section 4, its generator of behaviours), with the players of its evaluation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np

from tickdisk.foundation.errors import TickdiskError
from tickdisk.player.trace import Event, Place, axes, ns_of, player_name

_JOIN_PERIOD_S = 0.25
_SETTLE_S = 1.5
"""Time from the last join to the first action, in which players also teleport to their region."""
_NPC_BEFORE_S = 0.4
"""Longest time from the moment at which an NPC is put beside a player to the moment at which the player kills it."""
_WALK_NODES_PER_S = 4


@dataclass(frozen=True)
class Workload:
    """The numbers of a behaviour, and the places of the world in which it takes place."""

    places: Sequence[Place]
    """Places of the world, each with terrain of its own. A player begins at the place of its number."""
    players: int
    per_player_hz: float
    """The rate at which each player acts, in the unit of the behaviour."""
    regions: int
    """Number of places among which players are distributed, at most `players`."""
    seconds: float
    """Length of the trace in s."""
    seed: int

    @property
    def first_s(self) -> float:
        """Time from the start of the trace to the first action."""
        return _JOIN_PERIOD_S * self.players + _SETTLE_S

    def dues_s(self, rng: np.random.Generator) -> list[float]:
        """Returns the times in s at which a player acts, one period apart from a random phase on."""
        period_s = 1 / self.per_player_hz
        return np.arange(self.first_s + rng.uniform(0, period_s), self.seconds, period_s).tolist()

    def rngs(self) -> list[np.random.Generator]:
        """Returns the random numbers of each player."""
        return [np.random.default_rng(child) for child in np.random.SeedSequence(self.seed).spawn(self.players)]

    def place(self, number: int) -> Place:
        """Returns the place of the region of player `number`. Neighbouring numbers share a region, if there are fewer regions."""
        return self.places[number * self.regions // self.players]


@dataclass(frozen=True)
class Behaviour:
    """A kind of thing that players do, which can be made into a player trace."""

    title: str
    """The behaviour in words."""
    unit: str
    """The thing that each player does `per_player_hz` times a second."""
    typical_of: str
    needs: frozenset[str]
    """Kinds of actions that the players of a server must be able to do."""
    acts: Callable[[Workload], Iterator[Event]]
    """Yields the actions beside joins and leaves, in any order."""
    fewest_players: int = 1
    in_game: bool = True
    """Whether players join at the start and leave at the end. Otherwise `acts` also yields joins and leaves."""


def make(name: str, workload: Workload) -> list[Event]:
    """Makes the player trace of a behaviour of `GENERATED`, sorted by due time. The same numbers give the same trace.

    Raises TickdiskError if there is no such behaviour, or if its numbers or the places of the world do not allow it.
    """
    behaviour = named(name)
    if workload.players < behaviour.fewest_players or not 1 <= workload.regions <= workload.players:
        raise TickdiskError(
            f"{name} with {workload.players} players in {workload.regions} regions is not possible; take at least "
            f"{behaviour.fewest_players} players, and 1 to as many regions as players"
        )
    if workload.players > len(workload.places):
        raise TickdiskError(
            f"{workload.players} players need as many places, and the world has {len(workload.places)}; make a larger world"
        )
    if workload.seconds <= workload.first_s + 1 / workload.per_player_hz:
        raise TickdiskError(
            f"in {workload.seconds:g} s not every player acts; lengthen the trace to more than "
            f"{workload.first_s + 1 / workload.per_player_hz:.1f} s"
        )
    events = list(behaviour.acts(workload))
    if behaviour.in_game:
        for number in range(workload.players):
            name, join_s = player_name(number), _JOIN_PERIOD_S * number
            events += [Event(ns_of(join_s), name, "join"), Event(ns_of(workload.seconds), name, "leave")]
            if "teleport" in behaviour.needs and workload.place(number) != workload.places[number]:
                events.append(Event(ns_of(join_s + _SETTLE_S / 2), name, "teleport", axes(workload.place(number))))
    return sorted(events)


def named(name: str) -> Behaviour:
    """Returns the behaviour of a name. Raises TickdiskError if there is none."""
    if name not in GENERATED:
        raise TickdiskError(f"there is no behaviour {name}; take one of {', '.join(GENERATED)}")
    return GENERATED[name]


def _explore(workload: Workload) -> Iterator[Event]:
    dues = sorted((due_s, number) for number, rng in enumerate(workload.rngs()) for due_s in workload.dues_s(rng))
    places = _new_places(workload, len(dues))
    for (due_s, number), place in zip(dues, places, strict=True):
        yield Event(ns_of(due_s), player_name(number), "teleport", axes(place))


def _new_places(workload: Workload, count: int) -> Sequence[Place]:
    """Returns places at which no player has been. Raises TickdiskError if the world has too few."""
    places = workload.places[workload.players : workload.players + count]
    if len(places) < count:
        raise TickdiskError(
            f"{workload.players} players who go to {count} new places need {workload.players + count} places, and the world has "
            f"{len(workload.places)}; make a larger world, or lower players, seconds or how often they act"
        )
    return places


def _join_and_leave(workload: Workload) -> Iterator[Event]:
    period_s = 1 / workload.per_player_hz
    for number, rng in enumerate(workload.rngs()):
        for join_s in np.arange(rng.uniform(0, period_s), workload.seconds - period_s / 2, period_s).tolist():
            yield Event(ns_of(join_s), player_name(number), "join")
            yield Event(ns_of(join_s + period_s / 2), player_name(number), "leave")


def _attack(workload: Workload) -> Iterator[Event]:
    # Two players attack each other. The last of an odd number attacks the one before it.
    for number, rng in enumerate(workload.rngs()):
        partner = number ^ 1 if number ^ 1 < workload.players else number - 1
        meeting = axes(workload.place(partner & ~1))
        yield Event(ns_of(workload.first_s - _SETTLE_S / 4), player_name(number), "teleport", meeting)
        for due_s in workload.dues_s(rng):
            yield Event(ns_of(due_s), player_name(number), "attack", (("player", partner),))


def _build(workload: Workload) -> Iterator[Event]:
    for number, rng in enumerate(workload.rngs()):
        x, y, z = workload.place(number)
        # Players of one region build on top of each other.
        own = axes((x, y + number // workload.regions % 10, z))
        for turn, due_s in enumerate(workload.dues_s(rng)):
            yield Event(ns_of(due_s), player_name(number), "dig" if turn % 2 else "place", own)


def _kill_npcs(workload: Workload) -> Iterator[Event]:
    before_s = min(_NPC_BEFORE_S, 0.5 / workload.per_player_hz)
    for number, rng in enumerate(workload.rngs()):
        for turn, due_s in enumerate(workload.dues_s(rng)):
            npc = (("number", number + workload.players * turn),)
            yield Event(ns_of(due_s - before_s), player_name(number), "npc", npc)
            yield Event(ns_of(due_s), player_name(number), "kill", npc)


def _walk_around(workload: Workload) -> Iterator[Event]:
    centre = min(workload.places, key=lambda place: (place[0] ** 2 + place[2] ** 2, tuple(place)))
    for number, rng in enumerate(workload.rngs()):
        name = player_name(number)
        yield Event(ns_of(_JOIN_PERIOD_S * number + _SETTLE_S * 2 / 3), name, "teleport", axes(centre))
        # A player turns round after every second part of its way, so that it stays around the centre.
        yaw = int(rng.integers(360))
        for turn, due_s in enumerate(workload.dues_s(rng)):
            yaw = (yaw + 180) % 360 if turn % 2 else int(rng.integers(360))
            yield Event(ns_of(due_s), name, "walk", (("yaw_degrees", yaw), ("speed_nodes_per_s", _WALK_NODES_PER_S)))


def _teleport_in_turn(workload: Workload) -> Iterator[Event]:
    # Every player teleports twice in a row. The first takes it out of the terrain that the join had loaded.
    period_s = 1 / (workload.players * workload.per_player_hz)
    turns = floor((workload.seconds - workload.first_s) / period_s / 2)
    places = iter(_new_places(workload, 2 * turns))
    for turn in range(turns):
        at_s, name = workload.first_s + 2 * turn * period_s, player_name(turn % workload.players)
        yield Event(ns_of(at_s), name, "teleport", axes(next(places)))
        yield Event(ns_of(at_s + period_s), name, "teleport", axes(next(places)))


GENERATED: Mapping[str, Behaviour] = {
    "exploration": Behaviour(
        "players go to regions where nobody has been",
        "regions explored per second",
        "parkour, elytra, endless worlds",
        frozenset({"join", "leave", "teleport"}),
        _explore,
    ),
    "joining": Behaviour(
        "players join and leave",
        "joins, each with a leave, per second",
        "changing load",
        frozenset({"join", "leave"}),
        _join_and_leave,
        in_game=False,
    ),
    "player_attack": Behaviour(
        "players attack each other, in pairs",
        "attacks per second",
        "fights between players",
        frozenset({"join", "leave", "teleport", "attack"}),
        _attack,
        fewest_players=2,
    ),
    "terrain_modification": Behaviour(
        "players place and remove blocks",
        "blocks placed or removed per second",
        "building, survival",
        frozenset({"join", "leave", "teleport", "place", "dig"}),
        _build,
    ),
    "npc_attack": Behaviour(
        "players kill NPCs",
        "NPCs killed per second",
        "survival, farms",
        frozenset({"join", "leave", "teleport", "npc", "kill"}),
        _kill_npcs,
    ),
    "walk_around": Behaviour(
        "players walk around the middle of the map",
        "turns per second",
        "usual play",
        frozenset({"join", "leave", "teleport", "walk"}),
        _walk_around,
    ),
    "round_robin": Behaviour(
        "players teleport in turn, each twice in a row, of which the second counts",
        "teleports per second",
        "immediate writes of the regions that players leave",
        frozenset({"join", "leave", "teleport"}),
        _teleport_in_turn,
    ),
}
"""Behaviours that the generator makes, by name."""
