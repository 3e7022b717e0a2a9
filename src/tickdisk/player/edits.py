"""Lets players build, reads which of their edits the server acknowledged, and lets other players look at what is left of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tickdisk.foundation.errors import TickdiskError
from tickdisk.player.trace import Event, Place, axes, every, ns_of, player_name, rounds

if TYPE_CHECKING:
    import pandas as pd

TOWER_BLOCKS = 12
"""The number of blocks that fit on top of each other at a place of any world. `generate.lua` of Luanti clears as many nodes."""
_BESIDE_NODES = 2
"""The distance from which a player builds. Nearer, its own body would be in the way on some servers."""
_SETTLE_S = 1.0


def build(
    places: Sequence[Place],
    *,
    seed: int,
    players: int,
    seconds: float,
    teleport_period_s: float,
    edit_period_s: float,
    ping_period_s: float,
    join_period_s: float = 0.25,
) -> list[Event]:
    """Makes a trace in which players join, walk, teleport, ping and leave as in `roam`, and place blocks that nobody digs.

    Beside each place to which it teleports, a player builds a tower, one block on top of the other, so that every block of a life
    has a position of its own, which is air before. It begins after its first teleport. Raises TickdiskError if the world has too
    few places, if a period is not positive, if a stay has more edits than `TOWER_BLOCKS`, or if a player never teleports.
    """
    events, visits = rounds(
        places,
        seed=seed,
        players=players,
        seconds=seconds,
        teleport_period_s=teleport_period_s,
        ping_period_s=ping_period_s,
        join_period_s=join_period_s,
        beside_nodes=_BESIDE_NODES,
    )
    for visit in visits:
        stays = visit.stays[1:]
        if not stays:
            raise TickdiskError(
                f"player {visit.player} does not teleport within {seconds:g} s and so builds nothing; "
                "lengthen the trace or shorten teleport_period_s"
            )
        dues = every(visit.rng, edit_period_s, stays[0].start_ns + 1, ns_of(seconds))
        for stay in stays:
            # At the end of a stay an edit still comes before the teleport, because lines with one due time are sorted by action.
            own = [due for due in dues if stay.start_ns < due <= stay.end_ns]
            if len(own) > TOWER_BLOCKS:
                raise TickdiskError(
                    f"player {visit.player} places {len(own)} blocks at one place, and at most {TOWER_BLOCKS} fit there; "
                    "raise edit_period_s or shorten teleport_period_s"
                )
            x, y, z = stay.place
            events += [Event(due, visit.player, "place", axes((x, y + height, z))) for height, due in enumerate(own)]
    return sorted(events)


def look_around(
    positions: Sequence[Place], *, players: int, period_s: float, join_period_s: float = 0.25, first: int = 0
) -> list[Event]:
    """Makes a trace in which players join one after another, look at the positions of blocks in turn, and leave.

    The players are those from number `first` on. Each takes every Nth position of N players and looks at one in `period_s`
    seconds. Nothing is random. Raises TickdiskError if there is no position or no player, or if the period is not positive.
    """
    if not positions or players < 1 or period_s <= 0:
        raise TickdiskError(
            f"{players} players cannot look at {len(positions)} positions every {period_s:g} s; give at least one of each, "
            "and a time above zero"
        )
    names = [player_name(first + number) for number in range(players)]
    events = [Event(ns_of(join_period_s * number), name, "join") for number, name in enumerate(names)]
    start_s = join_period_s * players + _SETTLE_S
    for number, position in enumerate(positions):
        turn, player = divmod(number, players)
        events.append(Event(ns_of(start_s + period_s * (turn + player / players)), names[player], "look", axes(position)))
    end_s = start_s + period_s * (len(positions) // players + 1)
    return sorted([*events, *(Event(ns_of(end_s), name, "leave") for name in names)])


def placed_blocks(actions: "pd.DataFrame") -> "pd.DataFrame":
    """Returns the blocks that players were to place in a life, in the order of their due times, from its actions table.

    The columns are player, x, y, z, issued_ns (null if the client never asked for the block), and acknowledged_ns (the time at
    which the server's answer arrived at the client, and null if none did). Times are ns of CLOCK_MONOTONIC. Raises TickdiskError
    if the table does not say where a block was placed, as tables of earlier versions do not.
    """
    places = actions[actions["action"] == "place"].sort_values("due_ns", kind="stable", ignore_index=True)
    unknown = int(places["x"].isna().sum())
    if unknown:
        raise TickdiskError(f"the positions of {unknown} of {len(places)} placed blocks are not in the actions table; run again")
    found = places.rename(columns={"completed_ns": "acknowledged_ns"})
    found = found[["player", "x", "y", "z", "issued_ns", "acknowledged_ns"]]
    return found.astype({"x": "int64", "y": "int64", "z": "int64", "issued_ns": "Int64", "acknowledged_ns": "Int64"})


def looks(actions: "pd.DataFrame") -> "pd.DataFrame":
    """Returns the looks of a life in the order of their due times, from its actions table.

    The columns are player, x, y, z, and seen: `PLACED`, `AIR`, `OTHER` or `REFUSED`, and null if the server did not answer.
    Raises TickdiskError if a look has no position.
    """
    found = actions[actions["action"] == "look"].sort_values("due_ns", kind="stable", ignore_index=True)
    return found[["player", "x", "y", "z", "seen"]].astype({"x": "int64", "y": "int64", "z": "int64"})
