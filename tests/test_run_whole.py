"""A whole cell without a device, a game and players: a folder, a tiny server, and a program that writes what players would."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from records_of import CLIENT, DEVICE, resolved_of
from test_extend_tiny import Tiny

from tickdisk import calibrate, device, player
from tickdisk.config import Cell, load_config
from tickdisk.config.resolved import ResolvedArm
from tickdisk.device.log import RECORD
from tickdisk.experiment import Epoch, Injection, PlannedLife
from tickdisk.foundation import table
from tickdisk.foundation.process import Child
from tickdisk.foundation.record import plain
from tickdisk.manifest import LifeRecord, Manifest, read_manifest
from tickdisk.run import run_cell
from tickdisk.server import SERVERS, WorldSpec
from tickdisk.server.ready import free_port

PLAYERS = """
import json, signal, sys, time
trace, actions, status, start_ns = *sys.argv[1:4], int(sys.argv[4])
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(True))
events = [json.loads(line) for line in open(trace)]
while not told and time.monotonic_ns() < start_ns + max(event["due_ns"] for event in events):
    time.sleep(0.01)
with open(actions, "w") as file:
    for event in events:
        at_ns = start_ns + event["due_ns"]
        own = {"player": event["player"], "action": event["action"], "due_ns": at_ns, "issued_ns": at_ns, "detail": ""}
        own |= dict.fromkeys(("x", "y", "z", "seen"))
        late, done = {"completed_ns": None, "outcome": "timed_out"}, {"completed_ns": at_ns + 5, "outcome": "completed"}
        print(json.dumps(own | (late if event["action"] == "marker" else done)), file=file)
open(status, "w").write(sys.argv[5])
"""
LIFE = PlannedLife(
    "life",
    "fast",
    trace_seed=1,
    seconds=0.8,
    epochs=(Epoch("fast", 0.0, 0.1, 0.4), Epoch("slow", 0.4, 0.5, 0.8)),
    injections=(Injection("device_stall", 0.6, 50),),
)
ARMS = {
    "fast": device.NO_DELAY,
    "slow": device.DeviceModel(name="slow", read_latency_ns=1, write_latency_ns=1, flush_latency_ns=1),
}


class Disk:
    """A folder that stands for a mounted device."""

    file_system, tells_extents, daemon_pid = "ext4", False, os.getpid()

    def __init__(self, mount_point: Path) -> None:
        self.mount_point, self.done, self.user, self.kills = mount_point, list[str](), 0, False

    def set(self, model: device.DeviceModel, *, floor_ns: int) -> device.DeviceSetting:
        self.done.append(model.name)
        if model.name == "slow" and self.kills:
            Timer(0.1, os.kill, (self.user, signal.SIGKILL)).start()
        return device.DeviceSetting(len(self.done), 1, model.name, floor_ns)

    def stall(self, duration_ns: int) -> None:
        self.done.append(f"stall {duration_ns}")

    def remount(self) -> None:
        self.done.append("remount")

    def add_user(self, pid: int) -> None:
        self.user = pid

    def alive(self) -> bool:
        return True

    def status(self) -> device.EmulatorStatus:
        return DEVICE


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Manifest, Path, Disk]]:
    """Runs a cell whose device may end the server in the second epoch; returns the manifest, the folder and the device."""
    disk = Disk(tmp_path / "disk")
    disk.mount_point.mkdir()

    @contextmanager
    def up(_: device.DeviceModel, *, log_path: Path, **__: Any) -> Iterator[Disk]:
        yield disk
        record = np.zeros(1, RECORD)
        record["arrival_ns"], record["replied_ns"], record["inflight"] = 1, 2, 1
        log_path.write_bytes(record.tobytes())

    def start_players(_: str, __: str, trace: Path, start_ns: int, out: Path, logs: Path, *___: Any, **____: Any) -> Child:
        files = (trace, out / player.ACTIONS, out / player.STATUS, str(start_ns), json.dumps(plain(CLIENT)))
        return Child("players", [sys.executable, "-c", PLAYERS, *files], logs)

    def played(*, kills: bool = False) -> tuple[Manifest, Path, Disk]:
        kind, disk.kills = Tiny(), kills
        kind.make_world(tmp_path / "world", WorldSpec(1, 5), tmp_path / "logs")
        monkeypatch.setitem(cast("dict[str, Any]", SERVERS), "tiny", kind)
        monkeypatch.setitem(cast("dict[str, Any]", player.BEHAVIOURS), "still", lambda *_: player.Acts(events))
        monkeypatch.setattr(device, "up", up)
        monkeypatch.setattr(device, "recover", list)
        monkeypatch.setattr(player, "start_players", start_players)
        monkeypatch.setattr(calibrate, "floor_ns", lambda *_: 7)
        monkeypatch.setattr(calibrate, "realised_ns", lambda *_: None)
        events = [player.Event(round(due_s * 1e9), "p000", action) for due_s, action in ((0.0, "join"), (1.8, "leave"))]
        arms = tuple(ResolvedArm(arm=arm, device=ARMS[arm], is_sham=False, tick_delay_ms=None, capture="none") for arm in ARMS)
        design = {"players": 1, "save_period_s": 1.0}
        resolved = resolved_of(server="tiny", behaviour="still", design=design, arms=arms)
        rows = [SimpleNamespace(experiment="switchback", arm=arm, role="dose", servers=("tiny",)) for arm in ARMS]
        project = SimpleNamespace(
            config=load_config().model_copy(update={"port": free_port(), "scale": "smoke"}),
            arms=rows,
            model=lambda _, arm: ARMS[arm],
            world=lambda _: tmp_path / "world",
        )
        calibration = SimpleNamespace(backend="fuse", arrivals_lack="", model_dump=lambda **_: {})
        cell = Cell("switchback", "tiny", 0, (LIFE,), resolved)
        said: list[str] = []
        folder = run_cell(cast("Any", project), cell, cast("Any", calibration), tmp_path / "runs", said.append)
        assert run_cell(cast("Any", project), cell, cast("Any", calibration), tmp_path / "runs", said.append) == folder
        assert said[0] == "switchback on tiny, block 1, life: 1 s"
        return read_manifest(folder), folder, disk

    return played


def life_of(manifest: Manifest) -> LifeRecord:
    (life,) = manifest.lives.values()
    return life


def test_a_cell_is_played_and_written_down(play: Callable[..., tuple[Manifest, Path, Disk]]) -> None:
    manifest, folder, disk = play()
    life = life_of(manifest)
    assert disk.done == ["no_delay_unlimited", "remount", "no_delay", "no_delay", "slow", "stall 50000000"]
    assert (manifest.experiment, manifest.server.name, manifest.plan, list(manifest.models)) == (
        "switchback",
        "tiny",
        (LIFE,),
        ["fast", "slow"],
    )
    assert (life.trace_events, life.requests, life.ended, life.server_ended_in_order) == (3, 1, None, True)
    assert life.ticks.complete
    assert life.ticks.ticks > 50
    assert life.floors_ns == {"fast": 7, "slow": 7}
    assert len(life.attempts) == 1
    epochs = table.read("epochs", folder / "life/epochs.parquet")
    assert epochs["arm"].tolist() == ["fast", "slow"]
    assert (epochs["end_ns"] - life.started_ns).tolist() == [400_000_000, 800_000_000]
    assert table.read("actions", folder / "life/actions.parquet")["outcome"].tolist() == ["completed", "timed_out", "completed"]
    tables = {"ticks", "saves", "pauses", "actions", "device", "clocks", "epochs", "load", "injections"}
    assert {path.stem for path in (folder / "life").glob("*.parquet")} == tables
    raw = {"ticks.csv.zst", "actions.jsonl.zst", "device.log.zst", "server.log.zst"}
    assert {path.name for path in (folder / "life/raw").iterdir()} == raw


def test_a_server_that_ends_by_itself_is_a_result(play: Callable[..., tuple[Manifest, Path, Disk]]) -> None:
    manifest, _, _ = play(kills=True)
    life = life_of(manifest)
    assert life.ended is not None
    assert (life.ended.epoch, life.ended.arm) == (1, "slow")
    assert not life.server_ended_in_order
    assert life.server_problems[0] == f"the server ended with exit code {-signal.SIGKILL} before it was told to"
    assert any(said.startswith("the server ended in the middle of the life, at slow") for said in life.noted)
