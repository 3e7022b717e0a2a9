"""Behaviours on real servers, a world that a set-up trace built, and a recorded trace that is played again."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import for_release

from tickdisk import player, trace
from tickdisk.foundation import clock, memory
from tickdisk.run import act_out
from tickdisk.server import SERVERS, WorldSpec, read_world

pytestmark = [pytest.mark.live, for_release]
PORT = 30294
SPEC = WorldSpec(seed=42, edge_blocks=45)
TOLERANCE = 0.05


@pytest.fixture(scope="module", params=["luanti", "dragonfly", "minestom"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    SERVERS[request.param].make_world(folder / "world", SPEC, folder / "logs")
    return folder / "world"


def written(folder: Path, world: Path, name: str, players: int = 3, seconds: float = 9.0) -> Path:
    places = read_world(world).places
    # A server needs a moment after a leave before the same player can join again.
    hz = 0.2 if name == "joining" else 1.0
    # Only Luanti lets players build on a block that is not there (docs/limits.md).
    regions = players if name == "terrain_modification" and read_world(world).server != "luanti" else min(2, players)
    own = player.Workload(places, players, hz, regions, seconds, 7)
    player.write_trace(folder / "players.jsonl", player.make(name, own))
    return folder / "players.jsonl"


@pytest.mark.parametrize("name", player.GENERATED)
def test_a_behaviour_is_played_on_a_server(world: Path, name: str, tmp_path: Path) -> None:
    kind = SERVERS[read_world(world).server]
    acted = act_out(kind, world, written(tmp_path, world, name), tmp_path / "files", port=PORT, keep=None, record=None)
    assert acted.problems == []
    assert {outcome for _, outcome in acted.outcomes} == {"completed"}
    assert {action for action, _ in acted.outcomes} == set(player.GENERATED[name].needs)


def test_a_set_up_trace_builds_a_world(world: Path, tmp_path: Path) -> None:
    kind = SERVERS[read_world(world).server]
    path = tmp_path / "players.jsonl"
    at = read_world(world).places[0]
    axes = tuple(zip("xyz", at, strict=True))
    events = [player.Event(0, "p000", "join"), player.Event(3_000_000_000, "p000", "place", axes)]
    player.write_trace(path, [*events, player.Event(4_000_000_000, "p000", "leave")])
    act_out(kind, world, path, tmp_path / "files", port=PORT, keep=tmp_path / "built", record=None)
    assert read_world(tmp_path / "built").places == read_world(world).places
    look = [player.Event(0, "p001", "join"), player.Event(2_500_000_000, "p001", "look", axes)]
    player.write_trace(path, [*look, player.Event(3_500_000_000, "p001", "leave")])
    for built, seen in ((tmp_path / "built", player.PLACED), (world, player.AIR)):
        files = tmp_path / f"files-{seen}"
        acted = act_out(kind, built, path, files, port=PORT, keep=None, record=None)
        assert {outcome for _, outcome in acted.outcomes} == {"completed"}
        actions = player.read_actions(files / "fast" / player.ACTIONS, expected=3)
        assert player.looks(actions)["seen"].tolist() == [seen]


@pytest.mark.skipif(trace.unavailable() is not None, reason=f"bpftrace: {trace.unavailable()}")
def test_a_recorded_trace_makes_the_same_accesses_again(tmp_path: Path) -> None:
    kind = SERVERS["luanti"]
    world = tmp_path / "world"
    kind.make_world(world, SPEC, tmp_path / "logs")
    first = written(tmp_path, world, "exploration", players=4, seconds=20.0)
    again = tmp_path / "recorded.jsonl"
    counts = [accesses(tmp_path / "first", world, first, again), accesses(tmp_path / "again", world, again, None)]
    assert len(again.read_text().splitlines()) >= len(first.read_text().splitlines()) - 1
    print(counts)
    for key in counts[0].keys() | counts[1].keys():
        one, other = (count[key] for count in counts)
        assert abs(one - other) <= TOLERANCE * max(one, other), f"{key}: {one} and {other}"


def accesses(folder: Path, world: Path, players: Path, record: Path | None) -> Counter[tuple[str, str]]:
    """Counts the reads and writes of a server on the files of its world while a trace is acted out, by kind of data."""
    folder.mkdir()
    options = [] if record is None else [f"--record={record}"]
    program = str(Path(sys.executable).with_name("tickdisk"))
    words = [program, "behaviour", "play", str(players), f"--world={world}", *options, f"--port={PORT}"]
    with memory.folder() as fast, clock.Sampler() as clocks:
        with trace.start("bpftrace", target=trace.Command(words), folder=fast / "capture", logs=folder) as recording:
            assert recording.command is not None
            assert recording.command.wait(120) == 0, recording.command.tail()
            raw = recording.stop()
        requests = trace.parse(raw, clocks.table()).requests
    kinds = requests["file"].dropna().map(SERVERS["luanti"].classify)
    own = requests.loc[kinds.index].assign(kind=kinds)
    own = own[(own["kind"] == "terrain") & own["op"].isin(("read", "write"))]
    return Counter(zip(own["kind"].tolist(), own["op"].tolist(), strict=True))
