"""One server life on an emulated device: copy the world, start cold, let the players act, change the device on schedule, stop."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import calibrate, clock, device, host, player, process, server, table
from tickdisk.config import Cell, Epoch, Life
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json
from tickdisk.project import Project
from tickdisk.run.record import CpuRecorder, clock_disagreement_ns, compress, reasons_not_valid
from tickdisk.run.trace import TAIL_S, write_life_trace

_LEAD_S = 1.0
"""From the start of the clients to the first due time, so that they are ready."""
_DRAIN_S = 30.0
"""After the last due time, for actions that are still under way."""
_STOP_S = 60.0


@dataclass(frozen=True)
class Stage:
    """What a life is played with, and the folder that it leaves."""

    project: Project
    cell: Cell
    life: Life
    models: Mapping[str, device.DeviceModel]
    calibration: calibrate.Calibration
    folder: Path

    def floor_ns(self, arm: str) -> int:
        """The emulator's own latency, which is subtracted from the arm's."""
        return calibrate.floor_ns(self.calibration, self.models[arm])


def run_life(stage: Stage) -> dict[str, Any]:
    """Plays the life and returns its part of the manifest; its tables are then in the life's folder."""
    stage.folder.mkdir(parents=True)
    logs, raw = stage.folder / "logs", stage.folder / "raw"
    raw.mkdir()
    meter = host.LoadMeter()
    trace = stage.folder / "players.jsonl"
    events = write_life_trace(trace, stage.cell, stage.life, read_json(stage.project.world / "world.json"))
    cores = host.split_cores()
    with _tmpfs() as fast, clock.Sampler() as clocks, CpuRecorder() as cpu:
        model = stage.models[stage.life.first_arm]
        with device.up(
            model,
            size_bytes=stage.project.config.device_size_mib << 20,
            floor_ns=stage.floor_ns(stage.life.first_arm),
            log_path=fast / "device.log",
            logs=logs,
            cores=cores.others,
        ) as disk:
            world = _copy_world(stage, disk)
            cpu.follow("emulator", disk.daemon_pid)
            running = server.Luanti().start(
                world,
                port=stage.project.config.port,
                folder=fast,
                logs=logs,
                cores=cores.server,
                save_period_s=stage.cell.resolved["design"].get("save_period_s", server.SAVE_PERIOD_S),
            )
            disk.add_user(running.pid)
            cpu.follow("server", running.pid)
            started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
            address, lag_ms = f"127.0.0.1:{stage.project.config.port}", stage.project.config.limits.client_lag_ms
            players = player.start_players(address, trace, started_ns, fast, logs, cores.others, max_lag_ms=lag_ms)
            cpu.follow("players", players.pid)
            epochs = list(_switch(stage, disk, started_ns, players, running))
            _finish(players, started_ns + round((stage.life.seconds + TAIL_S + _DRAIN_S) * 1e9))
            problems = running.stop(_STOP_S)
            status = disk.status()
        samples = pd.concat([clocks.table(), pd.DataFrame([clock.sample()])])
        ticks = server.read_ticks(running.tick_log, lambda ns: clock.to_monotonic(ns, "monotonic_raw", samples))
        actions = player.read_actions(fast / player.ACTIONS, expected=events)
        client = player.read_status(fast / player.STATUS)
        requests = device.read_log(fast / "device.log")
        for name, frame in (
            ("ticks", ticks.table),
            ("actions", actions),
            ("device", requests),
            ("clocks", samples),
            ("epochs", pd.DataFrame(epochs)),
            ("load", cpu.table()),
        ):
            table.write(name, stage.folder / f"{name}.parquet", frame)
        for path in (running.tick_log, fast / player.ACTIONS, fast / "device.log", running.server_log):
            compress(path, raw)
    life = {
        "name": stage.life.name,
        "trace_events": events,
        "requests": len(requests),
        "started_ns": started_ns,
        "load": meter.read().as_dict(),
        "ticks": ticks.summary,
        "rejects": list(ticks.rejects),
        "markers": ticks.markers.to_dict("records"),
        "client": client,
        "device": status,
        "server": dict(running.facts),
        "server_problems": problems,
        "floors_ns": {arm: stage.floor_ns(arm) for arm in sorted({epoch.arm for epoch in stage.life.epochs})},
        "clock_disagreement_ns": clock_disagreement_ns(actions, ticks.markers, requests.to_pandas()),
    }
    return life | {"reasons": reasons_not_valid(stage.project.config.limits, life)}


def _copy_world(stage: Stage, disk: device.MountedDevice) -> Path:
    """Copies at memory speed; then the file system is mounted anew (cold page cache) and the arm's model is set."""
    arm = stage.life.first_arm
    disk.set(stage.models[arm].unlimited(), floor_ns=0)
    target = disk.mount_point / "world"
    try:
        shutil.copytree(stage.project.world, target)
    except OSError as error:
        raise TickdiskError(
            f"the world does not fit on the device ({error}); raise device_size_mib in workflow/config/config.yaml"
        ) from error
    disk.remount()
    disk.set(stage.models[arm], floor_ns=stage.floor_ns(arm))
    return target


def _switch(
    stage: Stage, disk: device.MountedDevice, started_ns: int, players: process.Child, running: server.RunningServer
) -> Iterator[dict[str, Any]]:
    """Sets each epoch's device at its time and yields the epochs as they were."""
    for number, epoch in enumerate(stage.life.epochs):
        _wait_until(started_ns + round(epoch.start_s * 1e9), players, running)
        setting = disk.set(stage.models[epoch.arm], floor_ns=stage.floor_ns(epoch.arm))
        yield _epoch_row(number, epoch, stage, setting, started_ns)
    _wait_until(started_ns + round(stage.life.epochs[-1].end_s * 1e9), players, running)


def _epoch_row(number: int, epoch: Epoch, stage: Stage, setting: device.Setting, started_ns: int) -> dict[str, Any]:
    return {
        "epoch": number,
        "cycle": epoch.cycle,
        "arm": epoch.arm,
        "device": stage.models[epoch.arm].name,
        "setting": setting.number,
        "start_ns": setting.effective_ns,
        "steady_ns": started_ns + round(epoch.steady_s * 1e9),
        "end_ns": started_ns + round(epoch.end_s * 1e9),
    }


def _wait_until(at_ns: int, players: process.Child, running: server.RunningServer) -> None:
    while (left_ns := at_ns - time.monotonic_ns()) > 0:
        time.sleep(min(left_ns / 1e9, 0.5))
        if not running.alive():
            raise TickdiskError(f"the server ended in the middle of the run; its last words: {running.last_words()}")
        if players.poll() not in (None, 0):
            raise TickdiskError(f"the players ended with exit code {players.poll()}; their last words: {players.tail(3)}")


def _finish(players: process.Child, until_ns: int) -> None:
    code = players.wait(max(1.0, (until_ns - time.monotonic_ns()) / 1e9))
    if code is None:
        code = players.stop(10)
    if code != 0:
        raise TickdiskError(f"the players ended with exit code {code}; their last words: {players.tail(3)}")


@contextmanager
def _tmpfs() -> Iterator[Path]:
    """Yields a folder in memory for what must never touch the device under test; after a kill the next removes it."""
    memory = Path("/dev/shm")  # noqa: S108 - tmpfs is the point
    for left in memory.glob("tickdisk-run-*"):
        if not Path(f"/proc/{left.name.split('-')[2]}").exists():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"tickdisk-run-{os.getpid()}-", dir=memory) as folder:
        yield Path(folder)
