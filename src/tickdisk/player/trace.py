"""Makes and writes player traces, which say what every player does and when that is due.

A trace is a file with one JSON object per line: `{"due_ns", "player", "action", "parameters"}`. Lines are sorted by due time,
which is counted from the start of the trace. The same seed gives the same bytes.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text

Place = Sequence[int]
"""A place of the world at which a player can stand, as x, y and z in nodes."""
_S = 1_000_000_000
DIG_AFTER_S = 0.5
"""Longest time in s from the placing of a block to its digging."""
_WALK_NODES_PER_S = 1
_WALK_TURN_S = 2
"""Time after which a walking player turns round. It goes 2 nodes each way and stays in its block, so that the terrain around it
is that of its place. A faster player would make some servers look ahead, beyond that terrain.
"""


@dataclass(frozen=True, order=True)
class Event:
    """One action that one player is to take: a line of a player trace. Events are ordered by due time first."""

    due_ns: int
    """Time from the start of the trace."""
    player: str
    """Name, as from `player_name`."""
    action: str
    """Kind of action, such as `teleport`. `tickdisk.server.Capability` has all kinds."""
    parameters: tuple[tuple[str, int], ...] = ()
    """Pairs of a name and a whole number, such as the place of a teleport. Empty for an action without parameters."""

    def line(self) -> str:
        """Returns the event as a line of a trace file."""
        value = {"due_ns": self.due_ns, "player": self.player, "action": self.action, "parameters": dict(self.parameters)}
        return json.dumps(value) + "\n"


def player_name(number: int) -> str:
    """Returns the name of a player by its number from 0, such as `p007`. A server knows the player's place from it."""
    return f"p{number:03d}"


def roam(
    places: Sequence[Place],
    *,
    seed: int,
    players: int,
    seconds: float,
    teleport_period_s: float,
    edit_period_s: float,
    ping_period_s: float,
    join_period_s: float = 0.25,
    joins_s: Sequence[float] | None = None,
    hot_places: int | None = None,
) -> list[Event]:
    """Makes a trace in which players join one after another and then roam until they all leave at `seconds`.

    Each player walks to and fro. It teleports to places that no player has been to, so that their terrain is stored but not
    loaded. There it places a block again and again, and digs it half a second later or before it goes. It also pings. The phases
    of these periods, which are those of one player, are drawn from the seed. Player N begins at `places[N]`, and teleports use
    the places after those. `joins_s` has the times in s at which players join, if they do not follow each other by
    `join_period_s`. If `hot_places` is given, teleports go to so many places in turn, again and again. Raises TickdiskError if
    the world has too few places, or if a period is not positive.
    """
    events, visits = rounds(
        places,
        seed=seed,
        players=players,
        seconds=seconds,
        teleport_period_s=teleport_period_s,
        ping_period_s=ping_period_s,
        join_period_s=join_period_s,
        joins_s=joins_s,
        hot_places=hot_places,
    )
    for visit in visits:
        dues = every(visit.rng, edit_period_s, visit.stays[0].start_ns + _S, ns_of(seconds))
        events += _edits(visit.player, dues, visit.stays)
    return sorted(events)


@dataclass(frozen=True)
class Stay:
    """The time from the due time of one join or teleport of a player to that of its next teleport, or of its leave."""

    start_ns: int
    end_ns: int
    place: Place
    """The place of the world to which the player comes."""


@dataclass(frozen=True)
class Visit:
    """Everything that is planned for one player between its join and its leave, apart from edits."""

    player: str
    stays: Sequence[Stay]
    rng: np.random.Generator
    """The player's own random numbers, from which its edits can be drawn."""


def rounds(
    places: Sequence[Place],
    *,
    seed: int,
    players: int,
    seconds: float,
    teleport_period_s: float,
    ping_period_s: float,
    join_period_s: float,
    joins_s: Sequence[float] | None = None,
    hot_places: int | None = None,
    beside_nodes: int = 0,
) -> tuple[list[Event], list[Visit]]:
    """Makes a trace in which players join, walk, teleport, ping and leave as in `roam`, and returns it with the stays of each.

    A player teleports `beside_nodes` to the east of a place. If that is above 0, it walks along z and so never comes nearer.
    Raises TickdiskError if the world has too few places, or if a period is not positive.
    """
    end_ns = ns_of(seconds)
    rngs = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(players)]
    due_s = joins_s or [join_period_s * number for number in range(players)]
    joins = [Event(ns_of(at_s), player_name(number), "join") for number, at_s in enumerate(due_s)]
    events = [*joins, *(Event(end_ns, join.player, "leave") for join in joins)]
    moves: list[Event] = []
    for join, rng in zip(joins, rngs, strict=True):
        start_ns, yaw = join.due_ns + _S, 0 if beside_nodes else int(rng.integers(360))
        moves += [Event(due, join.player, "teleport") for due in every(rng, teleport_period_s, start_ns, end_ns)]
        events += [Event(due, join.player, "ping") for due in every(rng, ping_period_s, start_ns, end_ns)]
        for turn, due in enumerate(every(rng, _WALK_TURN_S, start_ns, end_ns)):
            direction = (("yaw_degrees", (yaw + 180 * turn) % 360), ("speed_nodes_per_s", _WALK_NODES_PER_S))
            events.append(Event(due, join.player, "walk", direction))
    targets = len(moves) if hot_places is None else min(hot_places, len(moves))
    _require(places, players + targets, f"{players} spawns and {targets} teleports")
    reached = [*places[:players], *islice(cycle(places[players : players + targets]), len(moves))]
    arrivals = list(zip([*joins, *sorted(moves)], reached, strict=True))
    events += [replace(move, parameters=axes((x + beside_nodes, y, z))) for move, (x, y, z) in arrivals[players:]]
    visits = []
    for join, rng in zip(joins, rngs, strict=True):
        own = [(event.due_ns, place) for event, place in arrivals if event.player == join.player]
        ends = [*(start_ns for start_ns, _ in own[1:]), end_ns]
        stays = [Stay(start_ns, stay_end_ns, place) for (start_ns, place), stay_end_ns in zip(own, ends, strict=True)]
        visits.append(Visit(join.player, stays, rng))
    return events, visits


def join_burst(
    places: Sequence[Place],
    *,
    players: int,
    burst_s: float,
    stay_s: float,
    leave_period_s: float = 0.1,
    at_s: float = 0.0,
    first: int = 0,
) -> list[Event]:
    """Makes a trace in which players join evenly over `burst_s`, stay, and leave. Nothing in it is random.

    Player N begins at `places[N]`, whose terrain nothing has loaded before, and the players are those from number `first` on. The
    first join is at `at_s`, and the first leave is `stay_s` after the end of the burst. Raises TickdiskError if the world has too
    few places.
    """
    _require(places, first + players, f"{first + players} spawns")
    names = [player_name(first + number) for number in range(players)]
    joins = [Event(ns_of(at_s + burst_s * number / players), name, "join") for number, name in enumerate(names)]
    leave = at_s + burst_s + stay_s
    return sorted(joins + [Event(ns_of(leave + leave_period_s * number), name, "leave") for number, name in enumerate(names)])


def write_trace(path: Path, events: Iterable[Event]) -> int:
    """Writes the actions of players as a trace file, sorted by due time, and returns their number.

    The file appears whole or not at all. Raises TickdiskError if there is no action.
    """
    lines = [event.line() for event in sorted(events)]
    if not lines:
        raise TickdiskError(f"{path}: a trace needs at least one event; lengthen it or add players")
    write_text(path, "".join(lines))
    return len(lines)


def last_due_ns(path: Path) -> int:
    """Returns the due time of the last action of a trace file. Raises TickdiskError if the last line is no action."""
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        return int(json.loads(lines[-1])["due_ns"])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise TickdiskError(
            f"{path}, line {max(len(lines), 1)}: this is not a line of a player trace; make the trace again"
        ) from error


def _edits(player: str, dues: Sequence[int], stays: Sequence[Stay]) -> Iterator[Event]:
    """Yields place and dig where a player stays, which is air in every world. The dig comes before the next stay."""
    for due in dues:
        stay = next(stay for stay in stays if due < stay.end_ns)
        yield Event(due, player, "place", axes(stay.place))
        yield Event(due + min(ns_of(DIG_AFTER_S), (stay.end_ns - due) // 2), player, "dig", axes(stay.place))


def every(rng: np.random.Generator, period_s: float, start_ns: int, end_ns: int) -> list[int]:
    """Returns due times one period apart in [start, end), with a random phase. Raises TickdiskError unless it is above 0."""
    if period_s <= 0:
        raise TickdiskError(f"a period of {period_s:g} s is not possible; give a time above zero")
    period_ns = ns_of(period_s)
    return list(range(start_ns + int(rng.integers(period_ns)), end_ns, period_ns))


def _require(places: Sequence[Place], needed: int, purpose: str) -> None:
    if needed > len(places):
        raise TickdiskError(
            f"the trace needs {needed} places ({purpose}) and the world has {len(places)}; "
            "raise the world's edge_blocks, or lower players, seconds or the rate of teleports"
        )


def axes(place: Place) -> tuple[tuple[str, int], ...]:
    """Returns a place as the parameters of an event."""
    x, y, z = place
    return (("x", int(x)), ("y", int(y)), ("z", int(z)))


def ns_of(seconds: float) -> int:
    """Returns a time in s as whole ns."""
    return round(seconds * _S)
