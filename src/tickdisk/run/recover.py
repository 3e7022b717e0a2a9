"""Starts a server again on what power cuts have left, and lets players look which of their edits are there."""

import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

import pandas as pd

from tickdisk import device, player
from tickdisk.foundation import memory, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run.actors import instruments
from tickdisk.run.cuts import TakenCut
from tickdisk.run.stage import Stage
from tickdisk.server import RunningServer, place_apart, require_free

Outcome = Literal["opened", "not_mounted", "not_started", "no_player", "ended"]
"""The outcome of a power cut: the world opened to players to the end; the file system of a device did not recover; the server did
not start; no player could join; or the server ended by itself while players looked.
"""
_AT_ONCE = 4
"""Largest number of servers that are started at once. Each has a core and the memory of a device."""
_LOOKERS = 5
"""Number of players who look. Each also finds out whether it can join."""
_LOOK_PERIOD_S = 0.04
_JOIN_PERIOD_S = 0.1
_PATIENCE_S = 30.0
"""Time after the last due look for answers that are still under way."""
_CHECK_S = 0.1
_LEAD_S = 0.5
_STOP_S = 10.0
_LOOKS = "looks"


@dataclass(frozen=True)
class _Recovered:
    """The outcome of starting a server on the images of one power cut, and the blocks that players then saw."""

    outcome: Outcome
    detail: str
    """The words of the part that failed. Empty if the world opened."""
    looks: pd.DataFrame
    """The columns x, y, z and seen, one row for each block that was looked at. Empty if no player looked to the end."""


def recover_all(stage: Stage, cuts: Sequence[TakenCut]) -> None:
    """Recovers from each power cut of a life, whose actions table is written, and writes the tables of cuts and of remains.

    The blocks that were acknowledged before a cut are looked at after it. Raises InstrumentError if an instrument fails. A world
    that does not open is an outcome and raises nothing.
    """
    placed = player.placed_blocks(table.read("actions", stage.folder / "actions.parquet"))
    acknowledged = placed.dropna(subset=["acknowledged_ns"]).astype({"acknowledged_ns": "int64", "issued_ns": "int64"})
    before_cuts = [acknowledged[acknowledged["acknowledged_ns"] <= cut.cut_ns] for cut in cuts]
    positions = [list(before[["x", "y", "z"]].itertuples(index=False, name=None)) for before in before_cuts]
    # Nothing is timed here, so several servers run at once. Each thread starts the processes of a cut and sees their end.
    count, ports = min(len(os.sched_getaffinity(0)), _AT_ONCE), SimpleQueue[int]()
    for number in range(count):
        ports.put(stage.project.config.port + number)
    with instruments(), ThreadPoolExecutor(count) as threads:
        recovered = list(threads.map(partial(_recover, stage, ports), cuts, positions))
    rows, remains = [], []
    for cut, before, found in zip(cuts, before_cuts, recovered, strict=True):
        seen = found.looks.drop_duplicates(["x", "y", "z"])
        remains.append(before.merge(seen, how="left", on=["x", "y", "z"]).assign(cut=cut.number))
        rows.append(
            {
                "cut": cut.number,
                "cut_ns": cut.cut_ns,
                "pages_dropped": sum(image.pages_dropped for image in cut.images),
                "pages_kept": sum(image.pages_kept for image in cut.images),
                "outcome": found.outcome,
                "detail": found.detail,
            }
        )
    columns = table.SCHEMAS["remains"].names
    table.write("cuts", stage.folder / "cuts.parquet", pd.DataFrame(rows, columns=table.SCHEMAS["cuts"].names))
    kept = pd.concat(remains)[columns] if remains else pd.DataFrame(columns=columns)
    table.write("remains", stage.folder / "remains.parquet", kept)


def _recover(stage: Stage, ports: "SimpleQueue[int]", cut: TakenCut, positions: Sequence[tuple[int, int, int]]) -> _Recovered:
    """Mounts the images of a cut, starts the server on the world at a free port, and lets players look at blocks."""
    logs, port = stage.logs / f"cut_{cut.number}", ports.get()
    try:
        with memory.folder() as fast, ExitStack() as mounted:
            disks = [mounted.enter_context(stage.mounted(logs / f"disk_{place}")) for place in range(len(cut.images))]
            for disk, image in zip(disks, cut.images, strict=True):
                disk.set(stage.models[stage.life.first_arm].unlimited(), floor_ns=0)
                try:
                    disk.restore(image.path)
                except device.NotRecoveredError as error:
                    return _failed("not_mounted", str(error))
                image.path.unlink()
            world = disks[0].mount_point / "world"
            for other in disks[1:]:
                place_apart(world, stage.names_apart, other.mount_point)
            return _start(stage, world, port, fast, logs, positions)
    finally:
        ports.put(port)


def _start(stage: Stage, world: Path, port: int, fast: Path, logs: Path, positions: Sequence[tuple[int, int, int]]) -> _Recovered:
    """Starts the server on a world, and lets players look at the positions of blocks."""
    require_free(port)  # A port that is taken is no damage of the world.
    try:
        running = stage.server.start(
            world, port=port, folder=fast, logs=logs, save_period_s=stage.save_period_s, settings=stage.settings
        )
    except TickdiskError as error:
        return _failed("not_started", str(error))
    try:
        return _look(stage, running, fast, logs, positions)
    finally:
        running.child.stop(_STOP_S, signal.SIGKILL)


def _look(stage: Stage, running: RunningServer, fast: Path, logs: Path, positions: Sequence[tuple[int, int, int]]) -> _Recovered:
    """Lets players join and look at the positions of blocks. If there is none, they look at the origin."""
    trace, out = fast / "looks.jsonl", fast / _LOOKS
    out.mkdir()
    events = player.look_around(positions or [(0, 0, 0)], players=_LOOKERS, period_s=_LOOK_PERIOD_S, join_period_s=_JOIN_PERIOD_S)
    player.write_trace(trace, events)
    started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
    with player.start_players(stage.server.clients, f"127.0.0.1:{running.facts.port}", trace, started_ns, out, logs) as players:
        end_s = time.monotonic() + _LEAD_S + events[-1].due_ns / 1e9 + _PATIENCE_S
        while players.wait(_CHECK_S) is None and time.monotonic() < end_s and running.alive():
            continue
        is_alive, last_words = running.alive(), running.last_words()
        if players.poll() is None:
            players.stop(_STOP_S)
    actions = player.read_actions(out / player.ACTIONS, expected=len(events))
    if not is_alive:
        return _failed("ended", last_words)
    if not ((actions["action"] == "join") & (actions["outcome"] == "completed")).any():
        return _failed("no_player", last_words)
    return _Recovered("opened", "", player.looks(actions)[["x", "y", "z", "seen"]])


def _failed(outcome: Outcome, detail: str) -> _Recovered:
    return _Recovered(outcome, detail, pd.DataFrame(columns=["x", "y", "z", "seen"]))
