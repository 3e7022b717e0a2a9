"""Player traces: same seed, same bytes; every place is new; what is due when can be counted by hand."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tickdisk import TickdiskError
from tickdisk.player.trace import Event, join_burst, roam, write_trace

PLACES = [(x * 80 + 8, 4, z * 80 + 8) for z in range(10) for x in range(10)]
ROAM = {"players": 3, "seconds": 20.0, "teleport_period_s": 2.0, "edit_period_s": 2.0, "ping_period_s": 1.0}


def own(events: list[Event], player: str, action: str) -> list[Event]:
    return [event for event in events if (event.player, event.action) == (player, action)]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        write_trace(tmp_path / name, roam(PLACES, seed=seed, **ROAM))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_the_form_of_a_line(tmp_path: Path) -> None:
    assert (
        write_trace(tmp_path / "t", [Event(5, "p000", "teleport", (("x", 1), ("y", -2), ("z", 3))), Event(0, "p000", "join")])
        == 2
    )
    assert (tmp_path / "t").read_text() == (
        '{"due_ns": 0, "player": "p000", "action": "join", "parameters": {}}\n'
        '{"due_ns": 5, "player": "p000", "action": "teleport", "parameters": {"x": 1, "y": -2, "z": 3}}\n'
    )


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    events = roam(PLACES, seed=1, **ROAM)
    assert write_trace(tmp_path / "t", events) == len(events)
    lines = map(json.loads, (tmp_path / "t").read_text().splitlines())
    read = [Event(line["due_ns"], line["player"], line["action"], tuple(line["parameters"].items())) for line in lines]
    assert read == events


def test_no_player_goes_where_one_has_been() -> None:
    events = roam(PLACES, seed=1, **ROAM)
    visited = [tuple(dict(event.parameters).values()) for event in events if event.action == "teleport"]
    assert len(visited) == len(set(visited))
    assert set(visited) <= set(PLACES[3:])


def test_rates_and_ends() -> None:
    events = roam(PLACES, seed=1, **ROAM)
    for number, player in enumerate(("p000", "p001", "p002")):
        assert [event.due_ns for event in own(events, player, "join")] == [number * 250_000_000]
        assert [event.due_ns for event in own(events, player, "leave")] == [20_000_000_000]
        for action, period_ns in (("teleport", 2_000_000_000), ("ping", 1_000_000_000)):
            dues = [event.due_ns for event in own(events, player, action)]
            assert {b - a for a, b in pairwise(dues)} == {period_ns}
            active_ns = 19_000_000_000 - number * 250_000_000
            assert active_ns // period_ns <= len(dues) <= active_ns // period_ns + 1
    assert [event.due_ns for event in events] == sorted(event.due_ns for event in events)


@pytest.mark.parametrize("teleport_period_s", [2.0, 0.7])
def test_an_edit_is_at_the_place_where_the_player_is(teleport_period_s: float) -> None:
    events = roam(PLACES, seed=3, **(ROAM | {"teleport_period_s": teleport_period_s}))
    edits = 0
    for number, player in enumerate(("p000", "p001", "p002")):
        where = dict(zip("xyz", PLACES[number], strict=True))
        for event in (event for event in events if event.player == player):
            if event.action == "teleport":
                where = dict(event.parameters)
            elif event.action in {"place", "dig"}:
                assert dict(event.parameters) == where
                edits += 1
        places, digs = own(events, player, "place"), own(events, player, "dig")
        assert all(0 <= dig.due_ns - place.due_ns <= 500_000_000 for place, dig in zip(places, digs, strict=True))
    assert 3 * 2 * 9 <= edits <= 3 * 2 * 10


def test_a_player_that_walks_stays_in_its_map_block() -> None:
    walks = own(roam(PLACES, seed=5, **ROAM), "p001", "walk")
    ways = [dict(event.parameters) for event in walks]
    assert {(b["yaw_degrees"] - a["yaw_degrees"]) % 360 for a, b in pairwise(ways)} == {180}
    longest_ns = max(b.due_ns - a.due_ns for a, b in pairwise(walks))
    assert longest_ns * ways[0]["speed_nodes_per_s"] <= 8e9  # from the middle of 16 nodes


def test_a_world_too_small_is_an_error() -> None:
    needed = 3 + sum(event.action == "teleport" for event in roam(PLACES, seed=1, **ROAM))
    roam(PLACES[:needed], seed=1, **ROAM)
    with pytest.raises(TickdiskError, match=rf"needs {needed} places .* has {needed - 1}; raise the world's edge_blocks"):
        roam(PLACES[: needed - 1], seed=1, **ROAM)
    with pytest.raises(TickdiskError, match="needs 101 places"):
        join_burst(PLACES, players=101, burst_s=1, stay_s=1)


def test_a_period_of_zero_is_an_error() -> None:
    with pytest.raises(TickdiskError, match="period of 0 s"):
        roam(PLACES, seed=1, **(ROAM | {"ping_period_s": 0}))


def test_a_burst_of_joins() -> None:
    events = join_burst(PLACES, players=4, burst_s=1, stay_s=5, at_s=2)
    assert [(event.due_ns, event.player) for event in events if event.action == "join"] == [
        (2_000_000_000, "p000"), (2_250_000_000, "p001"), (2_500_000_000, "p002"), (2_750_000_000, "p003"),
    ]  # fmt: skip
    assert [event.due_ns for event in events if event.action == "leave"] == [8_000_000_000 + n * 100_000_000 for n in range(4)]
    assert len(events) == 8


def test_an_empty_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="at least one event"):
        write_trace(tmp_path / "t", [])
    assert not (tmp_path / "t").exists()
