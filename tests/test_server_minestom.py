"""The program of the Minestom server: its worlds, its refusals, its record and the data of players."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import for_release

from tickdisk import TickdiskError, player
from tickdisk.server import RunningServer, WorldSpec, read_ticks
from tickdisk.server.minestom import Minestom
from tickdisk.server.ready import free_port

SPEC = WorldSpec(42, 15)
FIRST_CHUNK = 2 * 4096
"""Place in a region's file behind the positions of chunks and the times at which they were written."""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/w/map/region/r.0.-1.mca", "terrain"),
        ("/w/players/3fcd2e7e.dat", "player"),
        ("/w/players/3fcd2e7e.dat.partial", "player"),
        ("/w/map/session.lock", "other"),
        ("/w/markers/7", "other"),
        ("r.0.0.mca", "other"),
    ],
)
def test_files_have_a_kind_of_data(path: str, kind: str) -> None:
    assert Minestom().classify(path) == kind


def test_errors_are_found_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "2026-11-26T22:15:21.042 [main] INFO x.Y - an ERROR that is none\n"
        "2026-11-26T22:15:21.050 [Ms-Tick-0] ERROR tickdisk.Life - exception: x\njava.lang.X: x\n"
    )
    assert Minestom().errors(log) == ["tickdisk.Life - exception: x"]
    with pytest.raises(TickdiskError, match="does not exist, so the server cannot have run"):
        Minestom().errors(tmp_path / "absent")


@pytest.fixture(scope="module")
def program() -> str:
    try:
        return Minestom().check().binary
    except TickdiskError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, program: str) -> Path:
    del program
    folder = tmp_path_factory.mktemp("world")
    Minestom().make_world(folder / "w", SPEC, folder / "logs", timeout_s=60)
    return folder / "w"


def regions(world: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (world / "map/region").iterdir()}


@for_release
@pytest.mark.live
def test_a_seed_gives_the_same_terrain(world: Path, tmp_path: Path) -> None:
    described = Minestom().make_world(tmp_path / "again", SPEC, tmp_path / "logs", timeout_s=60)
    first, again = regions(world), regions(tmp_path / "again")
    assert first.keys() == again.keys() == {f"r.{x}.{z}.mca" for x in (-1, 0) for z in (-1, 0)}
    assert all(first[name][FIRST_CHUNK:] == again[name][FIRST_CHUNK:] for name in first)
    assert described.blocks_generated == 225
    assert sorted(place[0] for place in described.places) == sorted([-72, 8, 88] * 3)
    other = tmp_path / "other"
    Minestom().make_world(other, WorldSpec(43, 15), tmp_path / "logs", timeout_s=60)
    assert regions(other)["r.0.0.mca"][FIRST_CHUNK:] != first["r.0.0.mca"][FIRST_CHUNK:]


@pytest.mark.live
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "usage: tickdisk-minestom generate|serve FLAGS"),
        (["generate", "--world=W"], "--seed is missing"),
        (["generate", "--world=W", "--seed"], "--seed has no value"),
        (["generate", "--world", "W", "--seed=1", "--edge-chunks=0", "--output=O"], "must be at least one square"),
        (["generate", "--world=W", "--seed=1.5", "--edge-chunks=1", "--output=O"], "--seed must be a whole number, but is 1.5"),
        (["serve", "--port=1"], "--port=1 is not a flag of `serve`"),
    ],
)
def test_a_wrong_command_line_is_refused(program: str, arguments: list[str], said: str, tmp_path: Path) -> None:
    ended = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert said in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def running(world: Path, tmp_path: Path) -> Iterator[RunningServer]:
    started = Minestom().start(world, port=free_port(), folder=tmp_path / "fast", logs=tmp_path / "logs", save_period_s=0.5)
    try:
        yield started
    finally:
        started.child.stop(1, signal.SIGKILL)


def serve(program: str, tmp_path: Path, **changed: object) -> str:
    """Tries to serve, which must be refused in one sentence, and returns the sentence."""
    places = tmp_path / "places"
    places.write_text("0 64 0\n")
    options = {
        "places": places,
        "record": tmp_path / "r",
        "save-period-s": 1,
        "radius-chunks": 2,
        "log": tmp_path / "l",
        **changed,
    }
    command = [program, "serve", *(f"--{name}={value}" for name, value in options.items())]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    return ended.stderr


@pytest.mark.live
@for_release
def test_what_cannot_be_served_is_refused(running: RunningServer, program: str, world: Path, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    assert "holds no world" in serve(program, tmp_path, world=tmp_path, address=address)
    assert "another server holds the world" in serve(program, tmp_path, world=world, address=address)
    assert "must be an address" in serve(program, tmp_path, world=world, address="nowhere")
    (tmp_path / "w/map/region").mkdir(parents=True)
    taken = f"127.0.0.1:{running.facts.port}"
    assert "cannot listen" in serve(program, tmp_path, world=tmp_path / "w", address=taken)
    (tmp_path / "bad").write_text("0 64 0\n1 2\n")
    said = serve(program, tmp_path, world=world, address=address, places=tmp_path / "bad")
    assert re.search(r"line 2 of .*bad is not a place", said)


@pytest.mark.live
def test_ticks_are_times_of_our_clock(running: RunningServer) -> None:
    before_ns = time.monotonic_ns()
    time.sleep(0.7)
    assert running.stop(20) == []
    ticks = read_ticks(running.tick_log, lambda ns, _: ns, Minestom.ticking.budget_ns)
    assert before_ns < ticks.table["start_ns"].iloc[-1] <= ticks.table["end_ns"].iloc[-1] < time.monotonic_ns()
    assert (ticks.table["end_ns"] >= ticks.table["start_ns"]).all()
    assert ticks.table["thread"].nunique() == 1
    assert len(ticks.saves) >= 1
    assert (ticks.saves["end_ns"] >= ticks.saves["begin_ns"]).all()
    # Java always stops threads at some safepoints, and its log tells when, in the clock of the ticks.
    assert len(ticks.pauses) >= 1
    lengths_ns = ticks.pauses["end_ns"] - ticks.pauses["begin_ns"]
    assert ((lengths_ns > 0) & (lengths_ns < 1_000_000_000)).all()
    assert abs(int(ticks.pauses["end_ns"].iloc[-1]) - int(ticks.table["start_ns"].iloc[-1])) < 60_000_000_000


@pytest.mark.live
def test_a_player_is_written_and_what_it_built_is_kept(world: Path, tmp_path: Path) -> None:
    """A block is written when its chunk is unloaded, because the next periodic save would come much later."""
    try:
        player.binary("java")
    except TickdiskError as error:
        pytest.skip(str(error))
    kind, logs, fast = Minestom(), tmp_path / "logs", tmp_path / "fast"
    running = kind.start(world, port=free_port(), folder=fast, logs=logs, save_period_s=600)
    before = regions(world)
    try:
        there = tuple(zip("xyz", map(int, (fast / "places.txt").read_text().split()[:3]), strict=True))
        plan = [("join", 0, ()), ("place", 2, there), ("leave", 3, ())]
        events = [player.Event(due_s * 10**9, "p000", action, parameters) for action, due_s, parameters in plan]
        expected = player.write_trace(tmp_path / "trace", events)
        started_ns = time.monotonic_ns() + 10**9
        address = f"127.0.0.1:{running.facts.port}"
        with player.start_players("java", address, tmp_path / "trace", started_ns, fast, logs) as clients:
            assert clients.wait(30) == 0
        outcomes = player.read_actions(fast / player.ACTIONS, expected=expected)["outcome"]
        assert list(outcomes) == ["completed"] * 3
        assert len(list((world / "players").glob("*.dat"))) == 1
        deadline = time.monotonic() + 10
        while regions(world) == before:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        running.child.stop(1, signal.SIGKILL)
