"""The generator of behaviours: its traces keep their numbers, and what cannot be played is refused in one sentence."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk import player
from tickdisk.foundation.errors import TickdiskError
from tickdisk.server import SERVERS

if TYPE_CHECKING:
    from tickdisk.player.trace import Event

S = 1_000_000_000
COUNTED = {
    "exploration": ("teleport",),
    "joining": ("join",),
    "player_attack": ("attack",),
    "terrain_modification": ("place", "dig"),
    "npc_attack": ("kill",),
    "walk_around": ("walk",),
    "round_robin": ("teleport",),
}
"""The actions that the unit of each behaviour counts."""


def places(count: int) -> list[tuple[int, int, int]]:
    return [(80 * (number % 40) - 1600, 10, 80 * (number // 40) - 1600) for number in range(count)]


def workload(**other: object) -> player.Workload:
    numbers = {"places": places(1600), "players": 4, "per_player_hz": 1.0, "regions": 4, "seconds": 20.0, "seed": 1}
    return player.Workload(**(numbers | other))  # type: ignore[arg-type]


def test_every_behaviour_of_the_published_generator_is_there_but_the_start_of_instances() -> None:
    assert set(COUNTED) == set(player.GENERATED)
    published = {"exploration", "joining", "player_attack", "terrain_modification", "npc_attack"}
    assert published < set(player.GENERATED)


@pytest.mark.parametrize("name", player.GENERATED)
@given(
    players=st.integers(2, 12),
    hz=st.sampled_from([0.25, 0.5, 1.0, 3.0]),
    regions=st.integers(1, 12),
    seconds=st.floats(12, 40),
    seed=st.integers(0, 99),
)
def test_a_trace_keeps_its_numbers(name: str, players: int, hz: float, regions: int, seconds: float, seed: int) -> None:
    own = workload(players=players, per_player_hz=hz, regions=min(regions, players), seconds=seconds, seed=seed)
    events = player.make(name, own)
    behaviour = player.GENERATED[name]
    assert events == sorted(events) == player.make(name, own)
    assert {event.action for event in events} <= behaviour.needs
    assert {event.player for event in events} == {player.player_name(number) for number in range(players)}
    acted = [event for event in events if event.action in COUNTED[name] and event.due_ns >= round(own.first_s * S)]
    expected = players * hz * (seconds - own.first_s)
    if name != "joining":
        assert expected - 2 * players <= len(acted) <= expected + 2 * players
    for each in {event.player for event in events}:
        in_game = False
        for event in (event for event in events if event.player == each):
            assert (event.action == "join") != in_game, "nobody acts before joining or after leaving"
            in_game = event.action != "leave"
        assert not in_game


def test_joins_and_leaves_come_as_often_as_they_are_asked_for() -> None:
    events = player.make("joining", workload(players=3, per_player_hz=0.5, regions=3, seconds=40.0))
    joins = Counter(event.player for event in events if event.action == "join")
    assert set(joins.values()) <= {19, 20}


def test_explorers_go_where_nobody_has_been() -> None:
    events = player.make("exploration", workload())
    reached = [event.parameters for event in events if event.action == "teleport"]
    spawns = [tuple(zip("xyz", place, strict=True)) for place in places(4)]
    assert len(set(reached)) == len(reached)
    assert not set(reached) & set(spawns)


def test_players_are_distributed_among_the_regions() -> None:
    own = workload(players=6, regions=2)
    built = {(event.player, event.parameters) for event in player.make("terrain_modification", own) if event.action == "place"}
    columns = {(dict(parameters)["x"], dict(parameters)["z"]) for _, parameters in built}
    assert len(columns) == 2
    assert len(built) == 6, "each player has a block of its own"


def test_two_players_attack_each_other_where_they_have_met() -> None:
    events = player.make("player_attack", workload(players=5, regions=5))
    targets = {event.player: dict(event.parameters)["player"] for event in events if event.action == "attack"}
    assert targets == {"p000": 1, "p001": 0, "p002": 3, "p003": 2, "p004": 3}
    last: dict[str, Event] = {}
    for event in events:
        if event.action == "teleport":
            last[event.player] = event
    assert last["p000"].parameters == last["p001"].parameters


def test_every_npc_is_put_before_it_is_killed_and_killed_once() -> None:
    events = player.make("npc_attack", workload(per_player_hz=3.0))
    put = {event.parameters: event for event in events if event.action == "npc"}
    killed = [event for event in events if event.action == "kill"]
    assert len(put) == len(killed) == len({event.parameters for event in killed})
    assert all(put[kill.parameters].due_ns < kill.due_ns and put[kill.parameters].player == kill.player for kill in killed)


def test_every_second_teleport_in_a_row_is_of_the_same_player() -> None:
    turns = [event.player for event in player.make("round_robin", workload()) if event.action == "teleport"]
    assert turns[::2] == turns[1::2]
    assert turns[:8:2] == ["p000", "p001", "p002", "p003"]


@pytest.mark.parametrize(
    ("name", "other", "says"),
    [
        ("flying", {}, "there is no behaviour flying; take one of exploration, joining"),
        ("player_attack", {"players": 1, "regions": 1}, "take at least 2 players"),
        ("exploration", {"regions": 5}, "1 to as many regions as players"),
        ("exploration", {"places": places(3)}, "4 players need as many places, and the world has 3"),
        ("exploration", {"places": places(20)}, "need 74 places|need 7[0-9] places, and the world has 20"),
        ("walk_around", {"seconds": 2.0}, "in 2 s not every player acts"),
    ],
)
def test_what_cannot_be_played_is_refused(name: str, other: dict[str, object], says: str) -> None:
    with pytest.raises(TickdiskError, match=says):
        player.make(name, workload(**other))


def test_every_server_can_play_every_behaviour_and_says_what_it_lacks() -> None:
    for kind in SERVERS.values():
        assert all(behaviour.needs <= kind.capabilities for behaviour in player.GENERATED.values())
        assert set(kind.limits) <= set(player.GENERATED)


def test_a_trace_that_ends_in_the_middle_of_a_line_names_it(tmp_path: Path) -> None:
    path = tmp_path / "players.jsonl"
    player.write_trace(path, player.make("walk_around", workload()))
    assert player.last_due_ns(path) == 20 * S
    path.write_text(path.read_text() + '{"due_ns": 1')
    with pytest.raises(TickdiskError, match=r"players.jsonl, line \d+: this is not a line of a player trace"):
        player.last_due_ns(path)
