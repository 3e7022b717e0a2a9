"""One server life on an emulated device: copy the world, start cold, let the players act, change the device on schedule, stop."""

import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tickdisk import calibrate, clock, device, host, memory, player, server, table
from tickdisk.config import Cell
from tickdisk.errors import TickdiskError
from tickdisk.experiment import Epoch, Life, Tool
from tickdisk.files import read_json
from tickdisk.project import Project
from tickdisk.run.actors import Actors, ServerEndedError, instruments
from tickdisk.run.clocks import clock_agreement
from tickdisk.run.inject import injections_table
from tickdisk.run.lookout import Lookout
from tickdisk.run.record import CpuRecorder, compress
from tickdisk.run.saturation import saturated_arms
from tickdisk.run.trace import TAIL_S, write_life_trace

_LEAD_S = 1.0
"""From the start of the clients to the first due time, so that they are ready."""
_DRAIN_S = 30.0
"""After the last due time, for actions that are still under way."""
_STOP_S = 60.0
_BEFORE = 1 << 32
"""Instead of an epoch's number: before the first."""
_COUNTS = ("ticks", "missing", "duplicated", "late", "backwards", "rejected", "merged", "blocks_generated")
"""Keys of the summary of ticks that the record of a life takes over."""


@dataclass(frozen=True)
class Stage:
    """Everything that a life is played with, and the folder that it leaves."""

    project: Project
    cell: Cell
    life: Life
    models: Mapping[str, device.DeviceModel]
    calibration: calibrate.Calibration
    folder: Path

    def floor_ns(self, arm: str) -> int:
        """Returns the time that this machine adds to the arm's latency, which the device subtracts."""
        return calibrate.floor_ns(self.calibration, self.models[arm])

    def set(self, disk: device.MountedDevice, arm: str, epoch: int) -> device.Setting:
        """Turns the device into that of an arm, with the draws of that epoch."""
        model, floor_ns = self.models[arm], self.floor_ns(arm)
        return disk.set(model.with_seed(device_seed(model, self.life, epoch)), floor_ns=floor_ns)

    @property
    def tools(self) -> dict[str, Tool]:
        """The tool that captures in each arm of the life."""
        arms = {epoch.arm for epoch in self.life.epochs} | {self.life.first_arm}
        return {arm["arm"]: arm["capture"] for arm in self.cell.resolved["arms"] if arm["arm"] in arms}

    @property
    def captured(self) -> bool:
        """Whether the whole life is captured."""
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
    """Plays the life and returns its part of the manifest; its tables are then in the life's folder.

    A server that ends in the middle, as a slow disk may let it, is a result: `ended` says when, and the tables hold what there
    was until then. SpoiltLifeError when an instrument fails in the middle, TickdiskError when the server does not even start.
    """
    stage.folder.mkdir(parents=True)
    logs, raw = stage.folder / "logs", stage.folder / "raw"
    raw.mkdir()
    trace = stage.folder / "players.jsonl"
    written = write_life_trace(trace, stage.cell, stage.life, read_json(stage.project.world / "world.json"))
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
            meter = host.LoadMeter(programs=True)
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
            with instruments(disk):
                with ExitStack() as during:
                    players = during.enter_context(
                        player.start_players(address, trace, started_ns, fast, logs, cores.others, max_lag_ms=lag_ms)
                    )
                    cpu.follow("players", players.pid)
                    recorded = stage.captured and disk.tells_extents
                    extents = during.enter_context(device.ExtentRecorder(world)) if recorded else None
                    played = _play(stage, Actors(disk, running, players), lookout, started_ns)
                problems = running.stop(_STOP_S)
                lookout.rest()
                load = meter.read()
                status = disk.status()
        with instruments():
            samples = pd.concat([clocks.table(), pd.DataFrame([clock.sample()])])
            in_order = len(problems) == len(server.check_log(running.server_log))  # there is no problem with its end
            ticks = ticks_of(running.tick_log, samples, in_order=in_order)
            actions = player.read_actions(fast / player.ACTIONS, expected=written.events)
            client = player.read_status(fast / player.STATUS)
            requests = device.read_log(fast / "device.log")
            for name, frame in (
                ("ticks", ticks.table),
                ("actions", actions),
                ("device", requests),
                ("clocks", samples),
                ("epochs", pd.DataFrame(played.epochs, columns=table.SCHEMAS["epochs"].names)),
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
    agreement = clock_agreement(actions, ticks.markers, requests.to_pandas())
    arms = dict.fromkeys(epoch.arm for epoch in stage.life.epochs)
    return {
        "name": stage.life.name,
        "trace_events": written.events,
        "phases": written.phases,
        "captures": captures,
        "requests": len(requests),
        "started_ns": started_ns,
        "load": load.as_dict(),
        "ticks": ticks.summary,
        "rejects": list(ticks.rejects),
        "markers": ticks.markers.to_dict("records"),
        "client": client,
        "device": status,
        "calibrated_lack": stage.calibration.arrivals_lack,
        "file_system": disk.file_system,
        "server": dict(running.facts),
        "server_problems": problems,
        "server_ended_in_order": in_order,
        "ended": played.ended,
        "floors_ns": {arm: stage.floor_ns(arm) for arm in sorted(arms)},
        "latest_switch_ns": max(
            (
                row["start_ns"] - started_ns - round(epoch.start_s * 1e9)
                for row, epoch in zip(played.epochs, stage.life.epochs, strict=False)
            ),
            default=0,
        ),
        "clock_disagreement_ns": agreement.disagreement_ns,
        "markers_unseen": agreement.unseen,
        "saturated": saturated_arms(client, played.epochs, arms, started_ns),
    }


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


@dataclass(frozen=True)
class _Played:
    """The epochs that began, as rows of their table, and where the server ended, if it did so before it was told to."""

    epochs: list[dict[str, Any]]
    ended: dict[str, Any] | None


def _play(stage: Stage, actors: Actors, lookout: Lookout, started_ns: int) -> _Played:
    """Plays all epochs and waits for the players; where the server ends before that, they are ended, too."""
    epochs: list[dict[str, Any]] = []
    try:
        with actors.told_apart():
            _switch(stage, actors, lookout, started_ns, epochs)
            actors.finish(started_ns + round((stage.life.seconds + TAIL_S + _DRAIN_S) * 1e9))
    except ServerEndedError:
        at_ns = time.monotonic_ns()
        actors.dismiss()
        last = epochs[-1] if epochs else None
        return _Played(
            epochs,
            {
                "epoch": last["epoch"] if last is not None and at_ns < last["end_ns"] else None,
                "arm": stage.life.first_arm if last is None else last["arm"],
                "at_ns": at_ns,
                "said": actors.running.last_words(),
            },
        )
    return _Played(epochs, None)


def _switch(stage: Stage, actors: Actors, lookout: Lookout, started_ns: int, epochs: list[dict[str, Any]]) -> None:
    """Sets each epoch's device and capture at their time, injects the device's stalls, and adds the epochs as they were."""
    stalls = [injection for injection in stage.life.injections if injection.kind == "device_stall"]
    for number, epoch in enumerate(stage.life.epochs):
        actors.wait_until(started_ns + round(epoch.start_s * 1e9))
        setting = stage.set(actors.disk, epoch.arm, number)
        epochs.append(_epoch_row(number, epoch, stage, setting, started_ns))
        lookout.look(epoch.arm)
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


def ticks_of(path: Path, samples: pd.DataFrame, *, in_order: bool) -> server.Ticks:
    """Reads the probe's file; a server that did not end `in_order` may not have got as far as writing a tick."""
    try:
        return server.read_ticks(path, lambda ns: clock.to_monotonic(ns, "monotonic_raw", samples))
    except TickdiskError:
        if in_order:
            raise
    return server.Ticks(
        pd.DataFrame(columns=table.SCHEMAS["ticks"].names),
        pd.DataFrame(columns=["name", "before_ns", "after_ns"]),
        dict.fromkeys(_COUNTS, 0) | {"complete": False},
        (),
    )
