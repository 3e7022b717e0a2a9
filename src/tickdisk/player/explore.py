"""Makes the player trace of the study of storage accesses, in which players do one kind of thing at a time, at several rates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle

import numpy as np

from tickdisk.foundation.errors import TickdiskError
from tickdisk.player.trace import DIG_AFTER_S, Event, Place, axes, ns_of, player_name

JOINS, TELEPORTS, EDITS, LEAVES, QUIET = "joins", "teleports", "edits", "leaves", "quiet"
TELEPORTS_PER_S = (1.0, 2.0, 4.0)
EDITS_PER_S = (1.0, 2.0, 8.0)
STAY_S = 1.0
"""Time after the last phase in which the first player is still there."""
_FIRST_JOINERS = 1 / 3
_ACTIVE = 0.8
"""Share of a phase in which actions begin. The rest is for actions that are still under way."""
_PHASES = 7 + len(TELEPORTS_PER_S) + len(EDITS_PER_S)


@dataclass(frozen=True)
class Phase:
    """A part of a trace of `explore` in which players do one kind of thing at one rate."""

    name: str
    """Kind of thing: `joins`, `teleports`, `edits`, `leaves` or `quiet`, in which nothing is done."""
    start_s: float
    """Time from the start of the trace at which the phase begins."""
    end_s: float
    """Time from the start of the trace at which the phase ends."""
    events: int
    """Number of such things in the phase, of all players together. One edit is a place and a dig."""


@dataclass(frozen=True)
class Exploration:
    """The trace that `explore` makes: actions of all players, sorted by due time, and phases in the order in which they come."""

    events: list[Event]
    phases: list[Phase]


def explore(places: Sequence[Place], *, seed: int, players: int, seconds: float) -> Exploration:
    """Makes a trace of equally long phases, in each of which players do one kind of thing and otherwise stand still.

    The phases are joins of some players and then of the others, or the other way round; quiet; teleports at three rates and edits
    (place and dig) at three rates, in an order that is drawn, with quiet between and after them; leaves; quiet. Players take
    turns. Player N joins at `places[N]`, and every teleport goes to a place of its own, beginning after those. Edits are made
    where the player is. The first player joins first and leaves at `seconds`, which is `STAY_S` after the last phase. Raises
    TickdiskError if there are too few players, places or seconds.
    """
    phases = _phases(np.random.default_rng(np.random.SeedSequence(seed)), players, seconds)
    needed = players + sum(phase.events for phase in phases if phase.name == TELEPORTS)
    if needed > len(places):
        raise TickdiskError(
            f"the trace needs {needed} places ({players} spawns and {needed - players} teleports) and the world has "
            f"{len(places)}; raise the world's edge_blocks, or lower players or seconds"
        )
    names = [player_name(number) for number in range(players)]
    joining, leaving, turns, fresh = iter(names), iter(names[:0:-1]), cycle(names), iter(places[players:])
    at = dict(zip(names, places, strict=False))
    events = [Event(ns_of(seconds), names[0], "leave")]
    for phase in phases:
        for due_s, spacing_s in _dues(phase):
            if phase.name == JOINS:
                events.append(Event(ns_of(due_s), next(joining), "join"))
            elif phase.name == LEAVES:
                events.append(Event(ns_of(due_s), next(leaving), "leave"))
            elif phase.name == TELEPORTS:
                name = next(turns)
                at[name] = next(fresh)
                events.append(Event(ns_of(due_s), name, "teleport", axes(at[name])))
            else:
                name = next(turns)
                events.append(Event(ns_of(due_s), name, "place", axes(at[name])))
                events.append(Event(ns_of(due_s + min(DIG_AFTER_S, spacing_s / 2)), name, "dig", axes(at[name])))
    return Exploration(sorted(events), phases)


def _phases(rng: np.random.Generator, players: int, seconds: float) -> list[Phase]:
    length_s = (seconds - STAY_S) / _PHASES
    if players < 2 or length_s * min(EDITS_PER_S) < 0.5:  # noqa: PLR2004 - two phases of joins; one edit in the rarest phase
        least_s = STAY_S + _PHASES * 0.5 / min(EDITS_PER_S)
        raise TickdiskError(f"{players} players for {seconds:g} s are too little to explore; give two players and {least_s:g} s")
    first = max(1, round(players * _FIRST_JOINERS))
    stairs = {
        name: [(name, max(1, round(rate * length_s))) for rate in rng.permutation(rates)]
        for name, rates in ((TELEPORTS, TELEPORTS_PER_S), (EDITS, EDITS_PER_S))
    }
    joins = [(JOINS, number) for number in rng.permutation([first, players - first])]
    quiet = [(QUIET, 0)]
    middle = [step for name in rng.permutation(list(stairs)) for step in (*stairs[str(name)], *quiet)]
    steps = [*joins, *quiet, *middle, (LEAVES, players - 1), *quiet]
    return [Phase(name, n * length_s, (n + 1) * length_s, int(events)) for n, (name, events) in zip(count(), steps, strict=False)]


def _dues(phase: Phase) -> Iterator[tuple[float, float]]:
    """Yields when each of the phase's events is due, evenly over its active part, and how far they are apart."""
    if phase.events:
        spacing_s = _ACTIVE * (phase.end_s - phase.start_s) / phase.events
        yield from ((phase.start_s + (number + 0.25) * spacing_s, spacing_s) for number in range(phase.events))
