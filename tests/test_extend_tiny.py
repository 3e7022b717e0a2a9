"""A tiny server and a tiny experiment, added as docs/extend.md says, work with everything that is the same for all."""

import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tickdisk.config import load_config, plan
from tickdisk.device import NO_DELAY
from tickdisk.experiment import EXPERIMENTS, Arm, Block, Card, Design, Experiment, PlannedLife
from tickdisk.experiment.life import epochs_of
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child
from tickdisk.server import DataType, Needs, Saving, Server, ServerProgram, Ticking, WorldSpec, first_thread, read_ticks
from tickdisk.server.contract import Launch
from tickdisk.server.ready import free_port
from tickdisk.server.world import Terrain, WorldFacts

SERVER = """
import signal, socket, sys, time
port, record = int(sys.argv[1]), open(sys.argv[2], "w")
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", port))
listener.listen()
open(sys.argv[3], "w").write("it listens\\n")
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
print("tickdisk_probe,2,monotonic,ns", file=record, flush=True)
number = 0
while not ended:
    number, start = number + 1, time.monotonic_ns()
    time.sleep(0.01)
    print(f"t,{number},{start},{time.monotonic_ns()},0,,7", file=record, flush=True)
print(f"e,{number},{time.monotonic_ns()},0", file=record, flush=True)
"""
WORLD = 'import json, sys; open(sys.argv[1], "w").write("terrain"); json.dump([[8, 1, 8]], open(sys.argv[2], "w"))'


class Tiny(Server):
    """A server that ticks every 10 ms and has one place."""

    name = "tiny"
    title = "Tiny"
    needs = Needs(commands=("python3",))
    programs = ()
    ticking = Ticking(10_000_000, None, has_end=True, parks=False, source="its loop")
    saving = Saving("none", "the server", 1.0, "It saves nothing.")
    capabilities = frozenset({"join"})
    clients = "luanti"
    readers = None
    radius = 0
    sources = Path("none")

    def check(self) -> ServerProgram:
        return ServerProgram(sys.executable, "1", "0")

    def classify(self, path: Path | str) -> DataType:
        return "terrain" if Path(path).name == "terrain" else "other"

    def errors(self, log: Path) -> list[str]:
        return [line for line in log.read_text().splitlines() if "error" in line]

    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> Terrain:
        scratch.mkdir(parents=True, exist_ok=True)
        launch = Launch([sys.executable, "-c", WORLD, content / "terrain", scratch / "places.json"], {})
        places = self._generator(launch, scratch / "places.json", scratch / "log", logs, timeout_s)
        return Terrain(blocks_generated=1, blocks_stored=spec.edge_chunks, map_bytes=1, places=places)

    def _launch(
        self, binary: str, world: Path, described: WorldFacts, port: int, folder: Path, settings: Mapping[str, str]
    ) -> Launch:
        assert (world / "terrain").exists()
        assert described.places == ((8, 1, 8),)
        assert settings == {"save": "1"}
        return Launch([binary, "-c", SERVER, str(port), folder / "ticks.csv", folder / "server.log"], {})

    def _settings(self, save_period_s: float) -> dict[str, str]:
        return {"save": f"{save_period_s:g}"}

    def _listens(self, child: Child, log: Path) -> bool:
        del child
        return log.exists() and "listens" in log.read_text()

    def _answers(self, port: int) -> bool:
        return port > 0


def test_a_tiny_server_makes_its_world_once_and_runs_on_it(tmp_path: Path) -> None:
    kind, world, spec = Tiny(), tmp_path / "world", WorldSpec(1, 5)
    made = kind.make_world(world, spec, tmp_path / "logs")
    assert (made.server, made.places, len(list((world / "markers").iterdir()))) == ("tiny", ((8, 1, 8),), 64)
    assert kind.make_world(world, spec, tmp_path / "logs") == made
    with pytest.raises(TickdiskError, match="holds a world of another spec"):
        kind.make_world(world, WorldSpec(2, 5), tmp_path / "logs")
    port = free_port()
    running = kind.start(world, port=port, folder=tmp_path / "fast", logs=tmp_path / "logs")
    with pytest.raises(TickdiskError, match=f"TCP port {port} on 127.0.0.1 cannot be used"):
        kind.start(world, port=port, folder=tmp_path / "second", logs=tmp_path / "logs")
    while first_thread(running.tick_log) is None:
        assert running.alive()
    assert running.stop(5) == []
    ticks = read_ticks(running.tick_log, lambda ns, _: ns, kind.ticking.budget_ns)
    assert (ticks.counts.complete, ticks.counts.missing, set(ticks.table["thread"])) == (True, 0, {7})
    assert (ticks.table["end_ns"] >= ticks.table["start_ns"]).all()


def test_a_tiny_server_that_is_killed_or_reports_errors_says_so(tmp_path: Path) -> None:
    kind, world = Tiny(), tmp_path / "world"
    kind.make_world(world, WorldSpec(1, 5), tmp_path / "logs")
    running = kind.start(world, port=free_port(), folder=tmp_path / "fast", logs=tmp_path / "logs")
    running.server_log.write_text("an error of the server\n")
    running.child.send(signal.SIGKILL)
    running.child.wait(5)
    assert running.stop(5) == ["the server ended with exit code -9 before it was told to", "an error of the server"]


class Waiting(Design):
    """Players wait, and nothing happens."""

    lives: int
    seconds: float


def _lives(block: Block[Waiting]) -> tuple[PlannedLife, ...]:
    epochs = epochs_of([arm.arm for arm in block.arms], 0.0, length_s=block.design.seconds, cut_s=0.0)
    return (PlannedLife("life", block.baseline, block.trace_seed, epochs[-1].end_s, epochs),)


WAITING = Experiment(
    "waiting",
    Waiting,
    evidence=(),
    parameters={},
    card=Card("Waiting", "Nobody moves.", "none", "nothing"),
    lives=_lives,
    behaviour="roam",
    controls=("baseline",),
    positive=(),
)


def test_a_tiny_experiment_is_planned_from_its_entry_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast("dict[str, Any]", EXPERIMENTS), "waiting", WAITING)
    config = load_config()
    scale = config.chosen
    monkeypatch.setattr(type(scale), "design", lambda *_: Waiting(lives=2, seconds=3.0))
    arm = Arm(experiment="waiting", arm="only", servers=("tiny",), role="baseline", device="hdd", description="x")
    cells = plan(config, [arm], {("waiting", "only"): NO_DELAY}, {("waiting", "tiny"): {"python": "a"}})
    assert [cell.title for cell in cells] == ["waiting on tiny, block 1", "waiting on tiny, block 2"]
    assert cells[0].resolved.server == "tiny"
    assert [epoch.end_s for epoch in cells[0].lives[0].epochs] == [3.0]
    assert len({cell.hash for cell in cells}) == 2
