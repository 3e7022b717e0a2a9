"""The trace of the study of accesses: one kind of thing at a time, at the rates that the phases say, no place twice."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk import TickdiskError
from tickdisk.player.explore import EDITS_PER_S, STAY_S, TELEPORTS_PER_S, Exploration, explore

PLACES = [(x * 80 + 8, 4, z * 80 + 8) for z in range(12) for x in range(12)]
PLAN = {"players": 6, "seconds": 53.0}
KIND = {"joins": {"join"}, "teleports": {"teleport"}, "edits": {"place", "dig"}, "leaves": {"leave"}, "quiet": set()}


def during(exploration: Exploration, start_s: float, end_s: float):
    return [event for event in exploration.events if start_s * 1e9 <= event.due_ns < end_s * 1e9]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), players=st.integers(2, 30), seconds=st.floats(15, 120))
def test_in_each_phase_players_do_what_it_says_so_often(seed, players, seconds):
    found = explore(PLACES * 5, seed=seed, players=players, seconds=seconds)
    for phase in found.phases:
        inside = during(found, phase.start_s, phase.end_s)
        assert {event.action for event in inside} <= KIND[phase.name]
        assert sum(event.action != "dig" for event in inside) == phase.events
        assert sum(event.action == "dig" for event in inside) == (phase.events if phase.name == "edits" else 0)
    assert sum(phase.events for phase in found.phases if phase.name == "joins") == players
    assert found.phases[0].start_s == 0
    assert all(before.end_s == pytest.approx(after.start_s) for before, after in pairwise(found.phases))
    assert found.phases[-1].end_s == pytest.approx(seconds - STAY_S)
    after = during(found, found.phases[-1].end_s, seconds + 1)
    assert [(event.player, event.action, event.due_ns) for event in after] == [("p000", "leave", round(seconds * 1e9))]


def test_the_order_of_phases_is_drawn_and_quiet_lies_between_kinds():
    orders = set()
    for seed in range(30):
        names = [phase.name for phase in explore(PLACES, seed=seed, **PLAN).phases]
        assert names[:3] == ["joins", "joins", "quiet"]
        assert names[-3:] == ["quiet", "leaves", "quiet"]
        assert sorted(names[3:11]) == ["edits"] * 3 + ["quiet"] * 2 + ["teleports"] * 3
        orders.add(tuple(phase.events for phase in explore(PLACES, seed=seed, **PLAN).phases))
    assert len(orders) > 20  # of 2 x 2 x 6 x 6


def test_rates_are_those_of_the_stairs():
    for name, rates in (("teleports", TELEPORTS_PER_S), ("edits", EDITS_PER_S)):
        phases = [phase for phase in explore(PLACES, seed=1, **PLAN).phases if phase.name == name]
        assert sorted(phase.events for phase in phases) == [round(rate * 4) for rate in rates]


def test_players_take_turns_and_only_go_where_nobody_has_been():
    found = explore(PLACES, seed=3, **PLAN)
    at = {f"p{number:03d}": PLACES[number] for number in range(6)}
    went = list(at.values())
    for event in found.events:
        if event.action == "teleport":
            at[event.player] = tuple(dict(event.parameters).values())
            went.append(at[event.player])
        elif event.action in {"place", "dig"}:
            assert tuple(dict(event.parameters).values()) == at[event.player]
    assert len(went) == len(set(went)) == 6 + 28
    for action in ("join", "teleport", "place"):
        names = [event.player for event in found.events if event.action == action]
        assert max(names.count(name) for name in at) - min(names.count(name) for name in at) <= 1


def test_a_place_is_dug_before_anything_else_of_its_player():
    own = [event for event in explore(PLACES, seed=4, **PLAN).events if event.player == "p002"]
    pairs = [(a, b) for a, b in pairwise(own) if a.action == "place"]
    assert pairs
    assert all(b.action == "dig" and 0 < b.due_ns - a.due_ns <= 500_000_000 for a, b in pairs)


def test_the_first_player_is_there_from_the_first_join_to_the_end():
    found = explore(PLACES, seed=5, **PLAN)
    own = [event for event in found.events if event.player == "p000"]
    joins = [event for event in found.events if event.action == "join"]
    assert (own[0], own[-1].action, own[-1].due_ns) == (joins[0], "leave", 53_000_000_000)


def test_the_same_seed_gives_the_same_trace_that_can_be_written():
    first, again, other = (explore(PLACES, seed=seed, **PLAN) for seed in (7, 7, 8))
    assert first == again != other
    assert all(json.loads(event.line())["due_ns"] == event.due_ns for event in first.events)


def test_the_smallest_scales_fit_into_their_worlds():
    smoke, paper = explore(PLACES, seed=1, players=5, seconds=25), explore(PLACES, seed=1, players=10, seconds=67)
    assert [sum(event.action in {"join", "teleport"} for event in found.events) for found in (smoke, paper)] == [18, 45]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"players": 1}, "1 players for 53 s are too little"),
        ({"seconds": 7.4}, "6 players for 7.4 s are too little to explore; give two players and 7.5 s"),
        ({"places": PLACES[:33]}, r"needs 34 places \(6 spawns and 28 teleports\) and the world has 33; raise"),
    ],
)
def test_what_cannot_be_explored_is_an_error(change, message):
    explore(PLACES[:34], seed=1, **PLAN)
    with pytest.raises(TickdiskError, match=message):
        explore(**({"places": PLACES, "seed": 1} | PLAN | change))
