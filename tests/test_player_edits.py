"""Towers of players: what is placed where, which blocks the server acknowledged, and what other players see of them later."""

import re
import signal
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import for_release

from tickdisk import TickdiskError, player
from tickdisk.foundation import table
from tickdisk.player.edits import TOWER_BLOCKS, build
from tickdisk.player.trace import Event, roam
from tickdisk.server import SERVERS, WorldSpec

PORT = 30293
S = 1_000_000_000
PLACES = [(x * 80 + 8, 4 + (x + z) % 9, z * 80 + 8) for z in range(20) for x in range(20)]
BUILD = {"players": 4, "seconds": 30.0, "teleport_period_s": 2.0, "edit_period_s": 0.3, "ping_period_s": 1.0}
REACH_BLOCKS = 13.0  # Dragonfly lets players in creative mode reach 14 blocks.


def position(event: Event) -> tuple[int, int, int]:
    x, y, z = dict(event.parameters).values()
    return x, y, z


def own(events: list[Event], name: str, *actions: str) -> list[Event]:
    return [event for event in events if event.player == name and event.action in actions]


@pytest.mark.parametrize("seed", range(20))
def test_every_block_is_on_top_of_another_near_the_player_and_at_a_position_of_its_own(seed: int) -> None:
    events = build(PLACES, seed=seed, **BUILD)
    positions = [position(event) for event in events if event.action == "place"]
    assert len(set(positions)) == len(positions)
    assert not [event for event in events if event.action == "dig"]
    for name in {event.player for event in events}:
        at, top, velocity, since_ns = None, None, 0, 0
        for event in own(events, name, "teleport", "place", "walk", "leave"):
            if event.action == "teleport":
                at, top, since_ns = [float(part) for part in position(event)], None, event.due_ns
            elif at is not None:
                at[2] += velocity * (event.due_ns - since_ns) / 1e9
                since_ns = event.due_ns
            if event.action == "walk":
                way = dict(event.parameters)
                assert way["yaw_degrees"] in {0, 180}  # along z
                velocity = way["speed_nodes_per_s"] * (1 if way["yaw_degrees"] == 0 else -1)
            elif event.action == "place":
                assert at is not None
                x, y, z = position(event)
                # The ground is below a place, and every other block stands on the one before it.
                assert (x, y, z) in PLACES if top is None else (x, y - 1, z) == top
                top = (x, y, z)
                # The body of a player is 0.6 wide, and a block has half a block to each side.
                assert abs(x - at[0]) > 0.8
                eyes = (at[0], at[1] + 3.62, at[2])
                assert sum((a - b) ** 2 for a, b in zip(top, eyes, strict=True)) < REACH_BLOCKS**2


def test_the_load_is_that_of_players_that_roam() -> None:
    built, roamed = (made(PLACES, seed=5, **BUILD) for made in (build, roam))
    for name in {event.player for event in built}:
        for action in ("join", "leave", "teleport", "ping", "walk"):
            one, other = (own(events, name, action) for events in (built, roamed))
            assert len(one) == pytest.approx(len(other), abs=1)
        dues = [event.due_ns for event in own(built, name, "place")]
        assert {b - a for a, b in pairwise(dues)} == {300_000_000}
        assert dues[0] - own(built, name, "teleport")[0].due_ns <= 300_000_000
        assert own(built, name, "leave")[0].due_ns - dues[-1] <= 300_000_000
    to = {position(event) for event in built if event.action == "teleport"}
    assert {(x - 2, y, z) for x, y, z in to} <= set(PLACES[4:])
    assert len(to) == sum(event.action == "teleport" for event in built)


def test_a_behaviour_of_experiments_builds() -> None:
    acts = player.BEHAVIOURS["build"](PLACES, {**BUILD, "margin": 1.2}, 7, 30.0)
    assert acts.events == build(PLACES, seed=7, **BUILD)
    assert acts.events != build(PLACES, seed=8, **BUILD)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"edit_period_s": 0.1}, rf"places (19|20|21) blocks at one place, and at most {TOWER_BLOCKS} fit"),
        ({"seconds": 1.5, "teleport_period_s": 20}, "does not teleport within 1.5 s and so builds nothing"),
        ({"edit_period_s": 0}, "period of 0 s"),
        ({"players": 401}, "raise the world's edge_blocks"),
    ],
)
def test_a_tower_that_cannot_be_built_is_an_error(change: dict[str, float], says: str) -> None:
    with pytest.raises(TickdiskError, match=says):
        build(PLACES, seed=1, **(BUILD | change))


def test_luanti_clears_as_many_nodes_as_a_tower_has() -> None:
    text = Path("src/servers/luanti/tickdisk_probe/generate.lua").read_text()
    assert re.findall(r"^local TOWER = (\d+)", text, re.MULTILINE) == [str(TOWER_BLOCKS)]


def test_players_take_turns_to_look() -> None:
    positions = [(x, -x, 2) for x in range(7)]
    events = player.look_around(positions, players=3, period_s=0.5, first=4)
    assert {event.player for event in events} == {"p004", "p005", "p006"}
    assert [position(event) for event in events if event.action == "look"] == positions
    for name, seen in (("p004", [0, 3, 6]), ("p005", [1, 4]), ("p006", [2, 5])):
        join, *looks, leave = own(events, name, "join", "look", "leave")
        assert [position(look)[0] for look in looks] == seen
        assert {b.due_ns - a.due_ns for a, b in pairwise(looks)} == {S // 2}
        assert looks[0].due_ns - join.due_ns >= S
        assert leave.due_ns > looks[-1].due_ns
    for bad in ({"players": 0}, {"period_s": 0.0}, {"positions": []}):
        with pytest.raises(TickdiskError, match="cannot look at"):
            player.look_around(**({"positions": positions, "players": 1, "period_s": 1.0} | bad))  # type: ignore[arg-type]


def action(due_ns: int, kind: str, at: Sequence[int] | None, completed_ns: int | None, **more: object) -> dict[str, object]:
    x, y, z = at or (None, None, None)
    ends = {"completed_ns": completed_ns, "outcome": "timed_out" if completed_ns is None else "completed"}
    value = {"player": "p0", "action": kind, "due_ns": due_ns, "issued_ns": due_ns + 1, "detail": "", "seen": None}
    return value | {"x": x, "y": y, "z": z} | ends | more


def written(path: Path, *rows: dict[str, object]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    for name in ("issued_ns", "completed_ns", "x", "y", "z"):
        frame[name] = pd.array([row[name] for row in rows], dtype="Int64")
    table.write("actions", path, frame)
    return table.read("actions", path)


def test_a_block_is_acknowledged_when_the_answer_came(tmp_path: Path) -> None:
    actions = written(
        tmp_path / "actions.parquet",
        action(30, "place", (1, 2, 3), None),
        action(10, "place", (-1, 2, 3), 2**60 + 1),
        action(20, "teleport", None, 25),
        action(40, "place", (4, 2, 3), None, issued_ns=None, outcome="failed"),
        action(50, "look", (1, 2, 3), 55, seen="air"),
        action(60, "look", (-1, 2, 3), None),
    )
    blocks = player.placed_blocks(actions)
    assert blocks.columns.tolist() == ["player", "x", "y", "z", "issued_ns", "acknowledged_ns"]
    assert blocks["x"].tolist() == [-1, 1, 4]
    assert blocks["issued_ns"].fillna(-1).tolist() == [11, 31, -1]
    assert blocks["acknowledged_ns"].fillna(-1).tolist() == [2**60 + 1, -1, -1]
    looks = player.looks(actions)
    assert looks["x"].tolist() == [1, -1]
    assert looks["seen"].fillna("?").tolist() == ["air", "?"]


def test_actions_of_earlier_versions_do_not_say_where_blocks_are(tmp_path: Path) -> None:
    """A table that was written without the columns is still read."""
    path = tmp_path / "actions.parquet"
    rows = written(path, action(10, "place", (1, 2, 3), 20))
    stored = table.stored_schema("actions")
    old = pa.Table.from_pandas(rows, schema=stored, preserve_index=False).drop_columns(["x", "y", "z", "seen"])
    pq.write_table(old, path)
    actions = table.read("actions", path)
    assert actions[["x", "y", "z", "seen"]].isna().all(axis=None)
    with pytest.raises(TickdiskError, match="positions of 1 of 1 placed blocks"):
        player.placed_blocks(actions)


def play(kind: str, folder: Path, events: list[Event]) -> pd.DataFrame:
    folder.mkdir()
    expected = player.write_trace(folder / "players.jsonl", events)
    address, start_ns = f"127.0.0.1:{PORT}", time.monotonic_ns() + S
    with player.start_players(
        SERVERS[kind].clients, address, folder / "players.jsonl", start_ns, folder, folder / "logs"
    ) as clients:
        assert clients.wait(60) == 0, clients.tail()
    return player.read_actions(folder / player.ACTIONS, expected=expected)


@pytest.mark.live
@for_release  # the contract of the servers looks at blocks after a stop, too
@pytest.mark.parametrize("kind", SERVERS)
def test_towers_are_built_and_seen_by_others_after_a_stop(kind: str, tmp_path: Path) -> None:
    server, world = SERVERS[kind], tmp_path / "world"
    try:
        server.check()
        player.binary(server.clients)
    except TickdiskError as error:
        pytest.skip(str(error))
    places = server.make_world(world, WorldSpec(seed=7, edge_blocks=25), tmp_path / "logs").places
    acts = build(places, seed=1, **(BUILD | {"players": 3, "seconds": 9.0, "edit_period_s": 0.2}))
    running = server.start(world, port=PORT, folder=tmp_path / "fast", logs=tmp_path / "logs")
    try:
        actions = play(kind, tmp_path / "build", acts)
        assert running.stop(30) == []
        running = server.start(world, port=PORT, folder=tmp_path / "fast2", logs=tmp_path / "logs")
        blocks = player.placed_blocks(actions)
        positions = [(x, y, z) for x, y, z in blocks[["x", "y", "z"]].itertuples(index=False)]
        above = sorted(
            {(x, max(y for x2, y, z2 in positions if (x2, z2) == (x, z)) + 1, z) for x, _, z in positions} - {*positions}
        )
        look = player.look_around([*positions, *above, (20_000, 5, 20_000)], players=2, period_s=0.1, first=3)
        seen = play(kind, tmp_path / "look", look)
        assert running.stop(30) == []
    finally:
        running.child.stop(1, signal.SIGKILL)
    assert actions.loc[actions["outcome"] != "completed", "detail"].tolist() == []
    assert len(positions) > 3 * 5 * 5
    assert (blocks["acknowledged_ns"] > blocks["issued_ns"]).all()
    found = player.looks(seen)
    assert found["seen"].tolist()[: len(positions)] == [player.PLACED] * len(positions)
    assert set(found["seen"].tolist()[len(positions) : -1]) == {player.AIR}
    # Where no terrain is stored, a look fails and does not say air.
    nowhere = seen[seen["action"] == "look"].iloc[-1]
    assert (nowhere["outcome"], nowhere["seen"], nowhere["x"]) == ("failed", player.REFUSED, 20_000), nowhere["detail"]
