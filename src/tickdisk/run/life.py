"""One server life on an emulated device: copy the world, start cold, let the players act, change the device on schedule, stop."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tickdisk import calibrate, clock, device, host, memory, player, process, server, table
from tickdisk.config import Cell, Epoch, Life, Tool
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json
from tickdisk.project import Project
from tickdisk.run.inject import injections_table
from tickdisk.run.lookout import Lookout
from tickdisk.run.record import CpuRecorder, clock_disagreement_ns, compress, reasons_not_valid
from tickdisk.run.trace import TAIL_S, write_life_trace

_LEAD_S = 1.0
"""From the start of the clients to the first due time, so that they are ready."""
_DRAIN_S = 30.0
"""After the last due time, for actions that are still under way."""
_STOP_S = 60.0
_BEFORE = 1 << 32
"""Instead of an epoch's number: before the first."""
_LOOK_S = 0.5


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
        """What is added to the arm's latency, and subtracted."""
        return calibrate.floor_ns(self.calibration, self.models[arm])

    def set(self, disk: device.MountedDevice, arm: str, epoch: int) -> device.Setting:
        """Turns the device into that of an arm, with the draws of that epoch."""
        model, floor_ns = self.models[arm], self.floor_ns(arm)
        deep, tails = calibrate.deep_floors(self.calibration, model), calibrate.tails(self.calibration, model)
        seed = device_seed(model, self.life, epoch)
        return disk.set(model.with_seed(seed), floor_ns=floor_ns, deep_floors=deep, tails=tails)

    @property
    def tools(self) -> dict[str, Tool]:
        """What looks on in each arm of the life."""
        arms = {epoch.arm for epoch in self.life.epochs} | {self.life.first_arm}
        return {arm["arm"]: arm["capture"] for arm in self.cell.resolved["arms"] if arm["arm"] in arms}

    @property
    def captured(self) -> bool:
        """Whether a capture looks on all through the life."""
        return set(self.tools.values()) == {"bpftrace"}

    @property
    def settings(self) -> dict[str, str]:
        """Settings of the server that the experiment asks for."""
        threads = self.cell.resolved["design"].get("emerge_threads")
        return {} if threads is None else {"num_emerge_threads": str(threads)}


def device_seed(model: device.DeviceModel, life: Life, epoch: int) -> int:
    """Returns the seed of a device's draws in an epoch: others than in any other epoch or block, which are to be independent."""
    return int(np.random.SeedSequence([model.seed, life.trace_seed, epoch]).generate_state(1, np.uint64)[0])


def run_life(stage: Stage) -> dict[str, Any]:
    """Plays the life and returns its part of the manifest; its tables are then in the life's folder."""
    stage.folder.mkdir(parents=True)
    logs, raw = stage.folder / "logs", stage.folder / "raw"
    raw.mkdir()
    meter = host.LoadMeter()
    trace = stage.folder / "players.jsonl"
    played = write_life_trace(trace, stage.cell, stage.life, read_json(stage.project.world / "world.json"))
    cores = host.split_cores()
    with memory.folder() as fast, clock.Sampler() as clocks, CpuRecorder() as cpu:
        model = stage.models[stage.life.first_arm]
        lookout = Lookout(stage.tools, fast, logs, cores.others, cpu)
        with (
            lookout,
            device.up(
                model,
                backend=stage.calibration.backend,
                size_bytes=stage.project.config.device_size_mib << 20,
                file_system=stage.project.config.file_system,
                floor_ns=stage.floor_ns(stage.life.first_arm),
                log_path=fast / "device.log",
                logs=logs,
                cores=cores.others,
            ) as disk,
        ):
            world = _copy_world(stage, disk)
            cpu.follow("emulator", disk.daemon_pid)
            with lookout.around_start(stage.life.first_arm):
                running = server.Luanti().start(
                    world,
                    port=stage.project.config.port,
                    folder=fast,
                    logs=logs,
                    cores=cores.server,
                    save_period_s=stage.cell.resolved["design"].get("save_period_s", server.SAVE_PERIOD_S),
                    settings=stage.settings,
                )
            lookout.follow(running.pid)
            disk.add_user(running.pid)
            cpu.follow("server", running.pid)
            cpu.follow("tick thread", running.pid, thread=server.TICK_THREAD)
            started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
            address, lag_ms = f"127.0.0.1:{stage.project.config.port}", stage.project.config.limits.client_lag_ms
            players = player.start_players(address, trace, started_ns, fast, logs, cores.others, max_lag_ms=lag_ms)
            cpu.follow("players", players.pid)
            actors = _Actors(disk, running, players)
            with ExitStack() as during:
                recorded = stage.captured and disk.tells_extents
                extents = during.enter_context(device.ExtentRecorder(world)) if recorded else None
                epochs = list(_switch(stage, actors, lookout, started_ns))
                actors.finish(started_ns + round((stage.life.seconds + TAIL_S + _DRAIN_S) * 1e9))
            problems = running.stop(_STOP_S)
            lookout.rest()
            status = disk.status()
        samples = pd.concat([clocks.table(), pd.DataFrame([clock.sample()])])
        ticks = server.read_ticks(running.tick_log, lambda ns: clock.to_monotonic(ns, "monotonic_raw", samples))
        actions = player.read_actions(fast / player.ACTIONS, expected=played.events)
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
        captures = lookout.write(stage.folder, samples, root=world)
        if extents is not None:
            table.write("extents", stage.folder / "extents.parquet", extents.table())
        if stage.life.injections:
            made = injections_table(stage.life.injections, started_ns, status["stalls"], ticks.markers)
            table.write("injections", stage.folder / "injections.parquet", made)
        for path in (running.tick_log, fast / player.ACTIONS, fast / "device.log", running.server_log):
            compress(path, raw)
    life = {
        "name": stage.life.name,
        "trace_events": played.events,
        "phases": played.phases,
        "captures": captures,
        "requests": len(requests),
        "started_ns": started_ns,
        "load": meter.read().as_dict(),
        "ticks": ticks.summary,
        "rejects": list(ticks.rejects),
        "markers": ticks.markers.to_dict("records"),
        "client": client,
        "device": status,
        "calibrated_lack": stage.calibration.arrivals_lack,
        "file_system": disk.file_system,
        "server": dict(running.facts),
        "server_problems": problems,
        "floors_ns": {arm: stage.floor_ns(arm) for arm in sorted({epoch.arm for epoch in stage.life.epochs})},
        "latest_switch_ns": max(
            row["start_ns"] - started_ns - round(epoch.start_s * 1e9)
            for row, epoch in zip(epochs, stage.life.epochs, strict=True)
        ),
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
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise TickdiskError(
            f"cannot copy the world to the device ({first}); if it is full, raise device_size_mib in workflow/config/config.yaml"
        ) from error
    disk.remount()
    stage.set(disk, arm, _BEFORE)
    return target


def _switch(stage: Stage, actors: "_Actors", lookout: Lookout, started_ns: int) -> Iterator[dict[str, Any]]:
    """Sets each epoch's device and capture at their time, injects the device's stalls, and yields the epochs as they were."""
    stalls = [injection for injection in stage.life.injections if injection.kind == "device_stall"]
    for number, epoch in enumerate(stage.life.epochs):
        actors.wait_until(started_ns + round(epoch.start_s * 1e9))
        setting = stage.set(actors.disk, epoch.arm, number)
        lookout.look(epoch.arm)
        yield _epoch_row(number, epoch, stage, setting, started_ns)
        for stall in (stall for stall in stalls if epoch.start_s <= stall.due_s < epoch.end_s):
            actors.wait_until(started_ns + round(stall.due_s * 1e9))
            actors.disk.stall(stall.length_ms * 1_000_000)
    actors.wait_until(started_ns + round(stage.life.epochs[-1].end_s * 1e9))


def _epoch_row(number: int, epoch: Epoch, stage: Stage, setting: device.Setting, started_ns: int) -> dict[str, Any]:
    return {
        "epoch": number,
        "arm": epoch.arm,
        "device": stage.models[epoch.arm].name,
        "setting": setting.number,
        "start_ns": setting.effective_ns,
        "steady_ns": started_ns + round(epoch.steady_s * 1e9),
        "end_ns": started_ns + round(epoch.end_s * 1e9),
    }


@dataclass(frozen=True)
class _Actors:
    """Who must stay alive while a life is played."""

    disk: device.MountedDevice
    running: server.RunningServer
    players: process.Child

    def check(self) -> None:
        """Raises TickdiskError when one of them has ended, with its last words."""
        if not self.disk.alive():
            raise TickdiskError("the device's emulator ended in the middle of the run; run the same command again")
        if not self.running.alive():
            raise TickdiskError(f"the server ended in the middle of the run; its last words: {self.running.last_words()}")
        if self.players.poll() not in (None, 0):
            last = self.players.tail(3)
            raise TickdiskError(f"the players ended with exit code {self.players.poll()}; their last words: {last}")

    def wait_until(self, at_ns: int) -> None:
        """Sleeps until `at_ns` (CLOCK_MONOTONIC), or until somebody ends."""
        while (left_ns := at_ns - time.monotonic_ns()) > 0:
            time.sleep(min(left_ns / 1e9, _LOOK_S))
            self.check()

    def finish(self, until_ns: int) -> None:
        """Waits for the players to end; those that are still busy at `until_ns` are interrupted, and account for every action."""
        while self.players.wait(_LOOK_S) is None and time.monotonic_ns() < until_ns:
            self.check()
        if self.players.poll() is None:
            self.players.stop(10)
        self.check()
