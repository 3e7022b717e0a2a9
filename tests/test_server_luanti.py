"""A real Luanti server: its world, its start and its end, and what the probe sees of work that is known."""

import hashlib
import os
import shutil
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from conftest import for_release

from tickdisk import TickdiskError, player
from tickdisk.server import RunningServer, Ticks, WorldSpec
from tickdisk.server import read_ticks as read
from tickdisk.server.luanti import Luanti, install
from tickdisk.server.ready import free_port

pytestmark = pytest.mark.live
ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src/servers/luanti"
SPEC = WorldSpec(42, 15)
Start = Callable[..., RunningServer]


BUDGET_NS = Luanti.ticking.budget_ns


def read_ticks(path: Path) -> Ticks:
    """Reads a record without converting its times."""
    return read(path, lambda ns, _: ns, BUDGET_NS)


class Changed(Luanti):
    """Luanti with other sources."""

    def __init__(self, sources: Path) -> None:
        self.sources = sources  # type: ignore[misc]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    Luanti().make_world(folder / "w", SPEC, folder / "logs", timeout_s=60)
    return folder / "w"


@pytest.fixture
def start(world: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a server on a copy of the world, with Lua code added to the probe's commands; ends it whatever happens."""
    running: list[RunningServer] = []

    def begin(lua: str = "", **settings: object) -> RunningServer:
        sources = shutil.copytree(SOURCES, tmp_path / "sources")
        with (sources / "tickdisk_probe/init.lua").open("a") as init:
            init.write(lua)
        copy = shutil.copytree(world, tmp_path / "world")
        arguments = {"port": free_port(), "folder": tmp_path / "fast", "logs": tmp_path / "logs", **settings}
        running.append(Changed(sources).start(copy, **arguments))
        return running[-1]

    yield begin
    for server in running:
        if server.alive():
            os.kill(server.pid, signal.SIGKILL)


def command(text: str, name: str = "nobody") -> str:
    """Lua that runs a chat command half a second after the start and logs its answer."""
    word, _, argument = text.partition(" ")
    call = f'minetest.registered_chatcommands["{word}"].func("{name}", "{argument}")'
    return f'\nminetest.after(0.5, function() minetest.log("action", "answer: " .. tostring(select(2, {call}))) end)\n'


def test_the_check_names_the_server_itself() -> None:
    found = Luanti().check()
    assert Path(found.binary).read_bytes()[:4] == b"\x7fELF"  # Debian's command is a script
    assert found.sha256 == hashlib.sha256(Path(found.binary).read_bytes()).hexdigest()
    assert int(found.version.split(".")[0]) == 5


def test_a_missing_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "_NAMES", ("no-such-server",))
    with pytest.raises(TickdiskError, match="install the packages minetest-server and minetest-data"):
        Luanti().check()


def test_the_world_is_what_it_says(world: Path) -> None:
    again = Luanti().make_world(world, SPEC, world.parent / "logs")
    assert again.map_sha256 == hashlib.sha256((world / "map.sqlite").read_bytes()).hexdigest()
    assert again.blocks_generated == 3 * 3 * 125
    with closing(sqlite3.connect(world / "map.sqlite")) as database:
        positions = {row[0] for row in database.execute("SELECT pos FROM blocks")}
    # pos = z 4096^2 + y 4096 + x, in blocks: all 125 blocks around each place are stored.
    for x, y, z in again.places:
        around = [(x // 16 + i, y // 16 + j, z // 16 + k) for i in range(-2, 3) for j in range(-2, 3) for k in range(-2, 3)]
        assert positions >= {c * 4096**2 + b * 4096 + a for a, b, c in around}
    assert len({tuple(place) for place in again.places}) == 9
    with pytest.raises(TickdiskError, match="another spec"):
        Luanti().make_world(world, WorldSpec(43, 15), world.parent / "logs")


def test_the_same_spec_gives_the_same_relief(world: Path, tmp_path: Path) -> None:
    first = Luanti().make_world(world, SPEC, tmp_path)
    again = Luanti().make_world(tmp_path / "again", SPEC, tmp_path, timeout_s=60)
    other = Luanti().make_world(tmp_path / "other", WorldSpec(43, 15), tmp_path, timeout_s=60)
    assert (again.places, again.blocks_stored) == (first.places, first.blocks_stored)
    assert sorted(other.places) != sorted(first.places)


def test_a_world_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"not generated within 0\.2 s"):
        Luanti().make_world(tmp_path / "w", SPEC, tmp_path / "logs", timeout_s=0.2)
    broken = shutil.copytree(SOURCES, tmp_path / "sources")
    (broken / "tickdisk_probe/generate.lua").write_text('error("as meant")')
    with pytest.raises(TickdiskError, match=r"not generated .*as meant"):
        Changed(broken).make_world(tmp_path / "w", SPEC, tmp_path / "logs", timeout_s=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "sources"]


def test_every_step_is_recorded_in_the_raw_clock(start: Start) -> None:
    server = start()
    before = time.monotonic()
    time.sleep(1.5)
    seconds = time.monotonic() - before
    raw_before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    assert server.stop(20) == []
    raw_after_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    ticks = read_ticks(server.tick_log)
    assert ticks.counts.missing == ticks.counts.duplicated == ticks.counts.rejected == ticks.counts.blocks_generated == 0
    assert ticks.counts.complete
    # Steps that the machine was too slow for are merged; together they make up for the time.
    assert ticks.counts.ticks + ticks.counts.merged >= 0.8 * seconds / (BUDGET_NS / 1e9)
    last_ns = int(ticks.table["start_ns"].iloc[-1])
    assert raw_before_ns - 500_000_000 <= last_ns <= raw_after_ns


def test_a_step_that_burns_is_seen_as_long(start: Start) -> None:
    server = start(command("tickdisk_burn 700"))
    time.sleep(2.5)
    assert server.stop(20) == []
    ticks = read_ticks(server.tick_log)
    (burn,) = ticks.markers.to_dict("records")
    assert burn["name"] == "burn"
    assert 700_000_000 <= burn["after_ns"] - burn["before_ns"] < 2_000_000_000
    starts = ticks.table["start_ns"].to_numpy()
    step = np.searchsorted(starts, burn["after_ns"])
    assert starts[step] - starts[step - 1] >= 700_000_000
    assert ticks.counts.late >= 1
    assert ticks.counts.merged >= 6


def test_a_marker_reads_a_file_of_the_world(start: Start) -> None:
    server = start(command("tickdisk_marker 7") + command("tickdisk_marker ../world.mt"))
    time.sleep(2)
    assert server.stop(20) == []
    markers = read_ticks(server.tick_log).markers
    assert markers["name"].tolist() == ["read7"]
    assert "answer: marker 7 4096" in server.server_log.read_text()
    assert "answer: -!- no marker file" in server.server_log.read_text()


def test_generated_blocks_are_counted(start: Start) -> None:
    server = start("\nminetest.after(0.3, function() local p = {x = 9000, y = 0, z = 9000} minetest.emerge_area(p, p) end)\n")
    time.sleep(5)
    server.stop(20)
    assert read_ticks(server.tick_log).counts.blocks_generated == 125


def test_a_killed_server_loses_little(start: Start) -> None:
    server = start()
    time.sleep(1.5)
    killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    os.kill(server.pid, signal.SIGKILL)
    assert "exit code -9" in server.stop(5)[0]
    ticks = read_ticks(server.tick_log)
    assert not ticks.counts.complete
    assert killed_ns - int(ticks.table["start_ns"].iloc[-1]) < 3_000_000_000


def test_a_taken_port_is_named(start: Start) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        with pytest.raises(TickdiskError, match=f"UDP port {port} on 127.0.0.1"):
            start(port=port)


def test_a_server_that_does_not_start_says_why(start: Start) -> None:
    with pytest.raises(TickdiskError, match=r"ended at its start .*as meant"):
        start('\nerror("as meant")\n')


def test_a_folder_without_a_world(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"holds no world \(world.json is missing\)"):
        Luanti().start(tmp_path, port=free_port(), folder=tmp_path, logs=tmp_path)


def test_an_error_in_the_log_is_a_problem(start: Start) -> None:
    server = start('\nminetest.after(0.1, function() minetest.log("error", "as meant") end)\n')
    time.sleep(1)
    assert server.stop(20) == ["Server: as meant"]


@for_release  # the contract of the servers tries every action
def test_players_act_on_stored_terrain_only(start: Start, world: Path, tmp_path: Path) -> None:
    places = Luanti().make_world(world, SPEC, tmp_path).places
    port = free_port()
    server = start(port=port, save_period_s=1.0)
    events = player.roam(places, seed=1, players=2, seconds=6, teleport_period_s=2, edit_period_s=1, ping_period_s=0.5)
    number = player.write_trace(tmp_path / "players.jsonl", events)
    zero_ns = time.monotonic_ns() + 300_000_000
    clients = player.start_players(
        "luanti", f"127.0.0.1:{port}", tmp_path / "players.jsonl", zero_ns, tmp_path, tmp_path / "logs"
    )
    assert clients.wait(40) == 0
    assert server.stop(20) == []
    actions = player.read_actions(tmp_path / player.ACTIONS, expected=number)
    assert actions.groupby("outcome").size().to_dict() == {"completed": number}
    ticks = read_ticks(server.tick_log)
    assert ticks.counts.blocks_generated == 0
    assert ticks.table["players"].max() == 2
    saved = sqlite3.connect(tmp_path / "world/players.sqlite")
    with closing(saved):
        where = {name: (round(x / 10), round(z / 10)) for name, x, z in saved.execute("SELECT name, posX, posZ FROM player")}
    for name in ("p000", "p001"):
        last = [dict(event.parameters) for event in events if (event.player, event.action) == (name, "teleport")][-1]
        assert abs(where[name][0] - last["x"]) <= 8
        assert abs(where[name][1] - last["z"]) <= 8
