import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import for_release
from records_of import CLIENT

from tickdisk import server
from tickdisk.foundation import process, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import plain
from tickdisk.player import drive, read_status

PORT = 30291
S = 1_000_000_000
LATE_NS = 2**60 + 1  # no double holds it
RECORD = {
    "player": "p0",
    "action": "ping",
    "due_ns": 5,
    "issued_ns": 6,
    "completed_ns": LATE_NS,
    "outcome": "completed",
    "detail": "",
    "x": None,
    "y": None,
    "z": None,
    "seen": None,
}
LOOK = RECORD | {"action": "look", "x": -1, "y": 2, "z": 3, "seen": "air"}


def lines(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def event(due_s: float, name: str, action: str, **parameters: float) -> dict[str, Any]:
    return {"due_ns": int(due_s * S), "player": name, "action": action, "parameters": parameters}


def test_actions_keep_every_nanosecond_and_fit_the_table(tmp_path: Path) -> None:
    never = RECORD | {"due_ns": 4, "issued_ns": None, "completed_ns": None, "outcome": "failed", "detail": "not issued: no"}
    actions = drive.read_actions(lines(tmp_path / "a.jsonl", RECORD, never), expected=2)
    assert actions["due_ns"].tolist() == [4, 5]
    assert actions["completed_ns"].iloc[1] == LATE_NS
    assert actions["issued_ns"].isna().tolist() == [True, False]
    table.write("actions", tmp_path / "a.parquet", actions)
    assert table.read("actions", tmp_path / "a.parquet")["completed_ns"].iloc[1] == LATE_NS


def test_actions_say_where_an_edit_was_and_what_a_look_saw(tmp_path: Path) -> None:
    failed = LOOK | {"due_ns": 7, "outcome": "failed", "completed_ns": None, "seen": None}
    refused = failed | {"due_ns": 8, "seen": drive.REFUSED}
    place = LOOK | {"due_ns": 4, "action": "place", "seen": None}
    actions = drive.read_actions(lines(tmp_path / "a.jsonl", failed, LOOK, RECORD | {"due_ns": 6}, place, refused), expected=5)
    table.write("actions", tmp_path / "a.parquet", actions)
    for read in (actions, table.read("actions", tmp_path / "a.parquet")):
        assert read["x"].fillna(0).tolist() == [-1, -1, 0, -1, -1]
        assert read["z"].dtype == "Int64"
        assert read["seen"].isna().tolist() == [True, False, True, True, False]
        assert (read["seen"][1], read["seen"][4]) == ("air", "refused")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"outcome": "won"}, "1 of 2 lines"),
        ({"completed_ns": None}, "line 2"),
        ({"due_ns": None}, "line 2"),
        ({"issued_ns": 1.5}, "line 2"),
        ({"mood": "good"}, "line 2"),
        ({"x": 1}, "line 2"),
        ({"seen": "air"}, "line 2"),
        (LOOK | {"seen": "sky"}, "line 2"),
        (LOOK | {"seen": None}, "line 2"),
        (LOOK | {"y": 0.5}, "line 2"),
        (LOOK | {"outcome": "failed", "completed_ns": None}, "line 2"),
        (LOOK | {"seen": "refused"}, "line 2"),
        (LOOK | {"outcome": "timed_out", "completed_ns": None, "seen": "refused"}, "line 2"),
        ({"outcome": "failed", "completed_ns": None, "seen": "refused"}, "line 2"),
    ],
)
def test_damaged_records_are_counted(tmp_path: Path, bad: dict[str, Any], says: str) -> None:
    with pytest.raises(TickdiskError, match=says):
        drive.read_actions(lines(tmp_path / "a.jsonl", RECORD, RECORD | bad), expected=2)


def test_a_record_too_few_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="1 records for 2 lines"):
        drive.read_actions(lines(tmp_path / "a.jsonl", RECORD), expected=2)
    with pytest.raises(TickdiskError, match="killed before they could finish"):
        drive.read_actions(tmp_path / "none.jsonl", expected=0)


def test_status_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="key address is missing"):
        read_status(lines(tmp_path / "s.json", {"actions": {}}))


def test_a_refusal_is_kept_and_absent_where_there_was_none() -> None:
    assert "first_refusal" not in plain(CLIENT)
    assert plain(CLIENT.model_copy(update={"first_refusal": "p000: full"}))["first_refusal"] == "p000: full"


def test_clients_that_were_not_built_point_to_the_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_CHECKOUT", tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TickdiskError, match="build/tickdisk-players does not exist; run `make setup`"):
        drive.binary("luanti")
    (tmp_path / "build").mkdir()
    (tmp_path / "build/tickdisk-players").touch()
    assert drive.binary("luanti") == tmp_path / "build/tickdisk-players"


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Any]:
    """Starts the clients on a trace that begins now."""

    def start(*events: dict[str, Any], port: int = PORT, **options: Any) -> Any:
        start_ns = time.monotonic_ns() + S // 10
        trace = lines(tmp_path / "players.jsonl", *events)
        return start_ns, drive.start_players(
            "luanti", f"127.0.0.1:{port}", trace, start_ns, tmp_path, tmp_path / "logs", **options
        )

    return start


def test_a_wrong_trace_sends_nothing(tmp_path: Path, play: Callable[..., Any]) -> None:
    _, child = play(event(0, "p000", "jump"))
    assert child.wait(10) == 2
    assert 'players.jsonl, line 1: unknown action "jump"' in child.tail()
    assert not (tmp_path / drive.ACTIONS).exists()


def test_no_server(tmp_path: Path, play: Callable[..., Any]) -> None:
    start_ns, child = play(event(0, "p000", "join"), event(0.1, "p000", "ping"), port=1, timeout_s=0.5)
    assert child.wait(10) == 3
    actions = drive.read_actions(tmp_path / drive.ACTIONS, expected=2)
    assert actions["outcome"].tolist() == ["timed_out", "failed"]
    silent = "the action did not end within 500ms: nothing listens at 127.0.0.1:1"
    offline = "not issued: the player is not in the game: its join timed out"
    assert actions["detail"].tolist() == [silent, offline]
    assert actions["due_ns"].tolist() == [start_ns, start_ns + S // 10]
    status = read_status(tmp_path / drive.STATUS)
    assert plain(status.actions["join"]) == {"offered": 1, "completed": 0, "timed_out": 1, "failed": 0}
    # Every lag is counted in the second of the trace in which its timer was to fire.
    assert sum(second.samples for second in status.lag_seconds) == status.schedule_lag.samples > 0
    assert {second.second for second in status.lag_seconds} <= {0, 1}


def test_stopped_clients_account_for_every_line(tmp_path: Path, play: Callable[..., Any]) -> None:
    _, child = play(event(0, "p000", "join"), event(100, "p000", "leave"), event(200, "p001", "join"), port=1)
    time.sleep(2)
    assert child.stop(5, signal.SIGTERM) == 0
    actions = drive.read_actions(tmp_path / drive.ACTIONS, expected=3)
    assert actions["detail"].tolist() == ["not completed: the client was stopped", *["not issued: the client was stopped"] * 2]
    assert read_status(tmp_path / drive.STATUS).interrupted


@pytest.fixture(scope="module")
def luanti(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[list[int]], server.RunningServer]]:
    """A server on a small stored world: the world, its places, the server."""
    folder = tmp_path_factory.mktemp("luanti")
    spec = server.WorldSpec(seed=42, edge_blocks=20)
    places = server.named("luanti").make_world(folder / "world", spec, folder / "logs", timeout_s=120).places
    running = server.named("luanti").start(
        folder / "world", port=PORT, folder=folder, logs=folder / "logs", cores=sorted(os.sched_getaffinity(0)), save_period_s=1.5
    )
    yield folder / "world", places, running
    assert running.stop(30) == []


@for_release  # the contract of the servers tries every action
@pytest.mark.live
def test_a_player_on_a_real_server(tmp_path: Path, play: Callable[..., Any], luanti: tuple[Path, list[list[int]], Any]) -> None:
    world, places, running = luanti
    x, y, z = places[5]
    here = {"x": x, "y": y, "z": z}
    events = [
        event(0, "p000", "join"), event(0, "p001", "join"), event(1.5, "p000", "walk", yaw_degrees=90, speed_nodes_per_s=1),
        event(2, "p000", "teleport", **here), event(3, "p000", "place", **here), event(3, "p000", "ping"),
        event(3.5, "p000", "dig", **here), event(4, "p000", "dig"), event(4.5, "p000", "place"), event(5, "p000", "leave"),
        event(8.5, "p000", "join"), event(10, "p001", "leave"),
    ]  # fmt: skip
    start_ns, child = play(*events, timeout_s=3.0)
    assert child.wait(40) == 0, child.tail()
    actions = drive.read_actions(tmp_path / drive.ACTIONS, expected=len(events))
    assert actions["due_ns"].tolist() == [start_ns + e["due_ns"] for e in events]
    # Known workload: everything succeeds but the dig of a node that is air by then: the server cannot change it.
    wanted = ["completed"] * len(events)
    wanted[7] = "timed_out"
    assert actions["outcome"].tolist() == wanted, actions[["action", "detail"]].to_string()
    done = actions[actions["outcome"] == "completed"]
    latency_ms = (done["completed_ns"] - done["due_ns"]).astype(np.int64).to_numpy() / 1e6
    assert (latency_ms >= 0).all()
    # Strictly one after another: what was due at 4.5 s waited for the dig that timed out at 7 s.
    assert actions["issued_ns"].iloc[8] >= start_ns + 7 * S
    for _, own in actions.groupby("player"):
        ends = own["completed_ns"].fillna(own["issued_ns"] + 3 * S)
        assert (own["issued_ns"].iloc[1:].to_numpy() >= ends.iloc[:-1].to_numpy()).all()
    # The server's own log and files are the oracle.
    log = running.server_log.read_text()
    assert log.count(f"p000 places node default:stone at ({x},{y},{z})") == 1
    assert log.count(f"p000 digs default:stone at ({x},{y},{z})") == 1
    with sqlite3.connect(f"file:{world / 'players.sqlite'}?mode=ro", uri=True) as database:
        saved = dict(database.execute("select name, round(posX / 10) || ' ' || round(posZ / 10) from player").fetchall())
    assert set(saved) == {"p000", "p001"}
    status = read_status(tmp_path / drive.STATUS)
    assert plain(status.actions["join"]) == {"offered": 3, "completed": 3, "timed_out": 0, "failed": 0}
    assert status.network.blocks_received >= 4 * 27
    assert status.network.connection_errors == 0
