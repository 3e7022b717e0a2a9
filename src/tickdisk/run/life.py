"""One server life on an emulated device, from the copy of the world to the tables in its folder."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import device, player, server
from tickdisk.foundation import clock, host, memory, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json
from tickdisk.run.actors import Actors, instruments
from tickdisk.run.captures import LifeCaptures
from tickdisk.run.clocks import clock_agreement
from tickdisk.run.inject import injections_table
from tickdisk.run.play import play
from tickdisk.run.record import CpuRecorder, compress
from tickdisk.run.saturation import saturated_arms
from tickdisk.run.stage import Stage, tick_thread
from tickdisk.run.trace import write_life_trace

_LEAD_S = 1.0
"""Time from the start of the clients to the first due time, in which they become ready."""
_STOP_S = 60.0
_COUNTS = ("ticks", "missing", "duplicated", "late", "backwards", "rejected", "merged", "blocks_generated")
"""Keys of the summary of ticks that the record of a life takes over."""


def run_life(stage: Stage) -> dict[str, Any]:
    """Plays one server life on its emulated device, writes its tables into `stage.folder`, and returns its part of the manifest.

    A slow disk may let the server end in the middle of the life. This is a result: `ended` says when, and the tables have
    everything until then. Raises InstrumentError if an instrument fails in the middle, and TickdiskError if the server does not
    start.
    """
    stage.folder.mkdir(parents=True)
    logs, raw = stage.folder / "logs", stage.folder / "raw"
    raw.mkdir()
    trace = stage.folder / "players.jsonl"
    written = write_life_trace(trace, stage.cell, stage.life, read_json(stage.world / server.WORLD_FILE))
    cores = host.split_cores()
    with memory.folder() as fast, clock.Sampler() as clocks, CpuRecorder() as cpu:
        captures = LifeCaptures(stage.tools, fast, logs, cores.others, cpu, stage.server.classify)
        with captures, stage.device_up(fast / "device.log", logs, cores.others) as disk:
            world = stage.copy_world(disk)
            meter = host.LoadMeter(programs=True)
            cpu.follow("emulator", disk.daemon_pid)
            with captures.around_start(stage.life.first_arm):
                running = stage.start_server(world, fast, logs, cores.server)
            captures.follow(running.pid)
            disk.add_user(running.pid)
            cpu.follow("server", running.pid)
            if (thread := tick_thread(stage.server, running)) is not None:
                cpu.follow("tick thread", running.pid, thread=thread)
            started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
            lag_ms = stage.project.config.limits.client_lag_ms
            with instruments(disk):
                with ExitStack() as during:
                    clients = player.start_players(
                        stage.server.clients, stage.address, trace, started_ns, fast, logs, cores.others, max_lag_ms=lag_ms
                    )
                    players = during.enter_context(clients)
                    cpu.follow("players", players.pid)
                    recorded = stage.captured and disk.tells_extents
                    extents = during.enter_context(device.ExtentRecorder(world)) if recorded else None
                    played = play(stage, Actors(disk, running, players), captures, started_ns)
                problems = running.stop(_STOP_S)
                captures.end()
                load, status = meter.read(), disk.status()
        with instruments():
            samples = pd.concat([clocks.table(), pd.DataFrame([clock.sample()])])
            in_order = len(problems) == len(running.errors(running.server_log))  # All problems are errors in the log.
            ticks = ticks_of(running.tick_log, samples, stage.server.ticking.budget_ns, in_order=in_order)
            actions = player.read_actions(fast / player.ACTIONS, expected=written.events)
            client = player.read_status(fast / player.STATUS)
            requests = device.read_log(fast / "device.log")
            for name, frame in (
                ("ticks", ticks.table.assign(thread=ticks.table["thread"].fillna(thread))),
                ("saves", ticks.saves),
                ("pauses", ticks.pauses),
                ("actions", actions),
                ("device", requests),
                ("clocks", samples),
                ("epochs", pd.DataFrame(played.epochs, columns=table.SCHEMAS["epochs"].names)),
                ("load", cpu.table()),
            ):
                table.write(name, stage.folder / f"{name}.parquet", frame)
            captured = captures.write(stage.folder, samples, root=world)
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
        "captures": captured,
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
        "latest_switch_ns": played.latest_switch_ns(stage, started_ns),
        "clock_disagreement_ns": agreement.disagreement_ns,
        "markers_unseen": agreement.unseen,
        "saturated": saturated_arms(client, played.epochs, arms, started_ns),
    }


def ticks_of(path: Path, samples: pd.DataFrame, budget_ns: int, *, in_order: bool) -> server.Ticks:
    """Reads the record of a tick probe, whose times become CLOCK_MONOTONIC by the clock `samples`.

    A server that did not end `in_order` may not have got as far as writing a tick. The result then has empty tables and counts of
    0, where otherwise a TickdiskError is raised.
    """
    try:
        return server.read_ticks(path, lambda ns, name: clock.to_monotonic(ns, name, samples), budget_ns)
    except TickdiskError:
        if in_order:
            raise
    return server.Ticks(
        pd.DataFrame(columns=table.SCHEMAS["ticks"].names),
        pd.DataFrame(columns=["name", "before_ns", "after_ns"]),
        pd.DataFrame(columns=table.SCHEMAS["saves"].names),
        pd.DataFrame(columns=table.SCHEMAS["pauses"].names),
        dict.fromkeys(_COUNTS, 0) | {"complete": False},
        (),
    )
