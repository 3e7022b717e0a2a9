"""Starts a server again on what power cuts have left, and lets players look which of their edits are there."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pandas as pd

from tickdisk import device, player
from tickdisk.foundation import memory, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import CutOutcome, PlayedLife
from tickdisk.run.actors import check_device, instruments
from tickdisk.run.cuts import TakenCut
from tickdisk.run.stage import Stage
from tickdisk.server import RunningServer, place_apart, require_free

_TRIED_AGAIN = (CutOutcome.NOT_STARTED, CutOutcome.NO_PLAYER)
"""Outcomes that a busy machine may cause, too."""
_AT_ONCE = 4
"""Largest number of servers that run at once. Each has a core and the memory of a device."""
_LOOKERS = 5
"""Number of players who look. Each also finds out whether it can join."""
_LOOK_PERIOD_S = 0.04
_JOIN_PERIOD_S = 0.1
_PATIENCE_S = 30.0
"""Time after the last due look for answers that are still under way."""
_CHECK_S = 0.1
_LEAD_S = 0.5
_STOP_S = 10.0
_COLUMNS = ["x", "y", "z", "seen"]
Position = tuple[int, int, int]


@dataclass(frozen=True)
class Recovered:
    """The outcome of starting a server on the images of one power cut, and the blocks that players then saw."""

    outcome: CutOutcome
    detail: str
    """The words of the part that failed, also of players who could not join. Empty if nothing failed."""
    looks: pd.DataFrame
    """The columns x, y, z and seen, one row for each block that was looked at. Empty if no player looked to the end."""
    absent: int = 0
    """Number of players who were to look and could not join."""
    tries: int = 1


def recover_all(stage: Stage, cuts: Sequence[TakenCut], record: PlayedLife) -> None:
    """Recovers from each power cut of a life, whose actions table is written, and writes the tables of cuts and of remains.

    The blocks that were acknowledged before a cut are looked at after it. Cuts that were planned after the server of the life had
    ended by itself have rows, too. Raises InstrumentError if an instrument fails. A world that does not open is an outcome and
    raises nothing.
    """
    placed = player.placed_blocks(table.read("actions", stage.folder / "actions.parquet"))
    acknowledged = placed.dropna(subset=["acknowledged_ns"]).astype({"acknowledged_ns": "int64", "issued_ns": "int64"})
    before_cuts = [acknowledged[acknowledged["acknowledged_ns"] <= cut.cut_ns] for cut in cuts]
    with instruments():
        recovered = _recover_each(stage, cuts, [_positions(before) for before in before_cuts])
        not_made = _rows_not_made(stage, len(cuts), record)
    rows, remains = [], []
    for cut, before, found in zip(cuts, before_cuts, recovered, strict=True):
        remains.append(before.merge(found.looks, how="left", on=["x", "y", "z"]).assign(cut=cut.number))
        rows.append(
            {
                "cut": cut.number,
                "due_ns": cut.due_ns,
                "cut_ns": cut.cut_ns,
                "late_ns": cut.late_ns,
                "apart_ns": cut.apart_ns,
                "keep_share": stage.life.keep_shares[cut.number],
                "pages_dropped": sum(image.pages_dropped for image in cut.images),
                "pages_kept": sum(image.pages_kept for image in cut.images),
                "outcome": found.outcome.value,
                "tries": found.tries,
                "absent": found.absent,
                "detail": found.detail,
            }
        )
    # As floats, which numbers beside gaps would become, times would lose nanoseconds after 104 days of uptime.
    made = pd.DataFrame([*rows, *not_made], columns=table.SCHEMAS["cuts"].names, dtype=object)
    table.write("cuts", stage.folder / "cuts.parquet", made)
    columns = table.SCHEMAS["remains"].names
    kept = pd.concat(remains)[columns] if remains else pd.DataFrame(columns=columns)
    table.write("remains", stage.folder / "remains.parquet", kept)


def _rows_not_made(stage: Stage, made: int, record: PlayedLife) -> list[dict[str, Any]]:
    """Returns the rows of the planned cuts after the first `made`, before which the server of the life had ended by itself.

    Raises TickdiskError if it had not ended.
    """
    missing = list(enumerate(zip(stage.life.cuts_s, stage.life.keep_shares, strict=True)))[made:]
    if missing and record.ended is None:
        raise TickdiskError(f"{len(missing)} of {len(stage.life.cuts_s)} planned power cuts were not made; run again")
    return [
        {
            "cut": number,
            "due_ns": record.started_ns + round(due_s * 1e9),
            "keep_share": share,
            "outcome": CutOutcome.SERVER_HAD_ENDED.value,
            "tries": 0,
            "absent": 0,
            "detail": "" if record.ended is None else record.ended.said,
        }
        for number, (due_s, share) in missing
    ]


def _positions(blocks: pd.DataFrame) -> list[Position]:
    return list(dict.fromkeys(blocks[["x", "y", "z"]].itertuples(index=False, name=None)))


def _recover_each(stage: Stage, cuts: Sequence[TakenCut], positions: Sequence[Sequence[Position]]) -> list[Recovered]:
    """Recovers from cuts, several at once, and from some of them a second time, one after another, and removes the images.

    Nothing is timed here, so several servers run at once. A busy machine is no lost world, so a server that did not start, or
    that no player could join, gets a second try on the same images while nothing else runs.
    """
    count, ports = min(len(os.sched_getaffinity(0)), _AT_ONCE), SimpleQueue[int]()
    for number in range(count):
        ports.put(stage.project.config.port + number)

    def first(cut: TakenCut, blocks: Sequence[Position]) -> Recovered:
        found = recover(stage, ports, cut, blocks, stage.logs / f"cut_{cut.number}")
        if found.outcome not in _TRIED_AGAIN:
            _remove(cut)
        return found

    with ThreadPoolExecutor(count) as threads:  # Each thread starts the processes of a cut and sees their end.
        recovered = list(threads.map(first, cuts, positions))
    for place, (cut, blocks) in enumerate(zip(cuts, positions, strict=True)):
        if recovered[place].outcome in _TRIED_AGAIN:
            again = recover(stage, ports, cut, blocks, stage.logs / f"cut_{cut.number}_again")
            recovered[place] = replace(again, tries=2)
            _remove(cut)
    return recovered


def _remove(cut: TakenCut) -> None:
    for image in cut.images:
        image.path.unlink()


def recover(stage: Stage, ports: "SimpleQueue[int]", cut: TakenCut, blocks: Sequence[Position], logs: Path) -> Recovered:
    """Mounts the images of a cut, starts the server on the world at a free port, and lets players look at blocks.

    The images stay. Raises TickdiskError if an instrument fails.
    """
    port = ports.get()
    try:
        with memory.folder() as fast, ExitStack() as mounted:
            disks = [mounted.enter_context(stage.mounted(logs / f"disk_{place}")) for place in range(len(cut.images))]
            try:
                world = _restore(stage, disks, cut)
            except device.NotRecoveredError as error:
                return _failed(CutOutcome.NOT_MOUNTED, str(error))
            found = _start(stage, disks, world, port, fast, logs, blocks)
            for disk in disks:
                check_device(disk)
            return found
    finally:
        ports.put(port)


def _restore(stage: Stage, disks: Sequence[device.MountedDevice], cut: TakenCut) -> Path:
    """Gives devices the content of the images of a cut, and returns the folder of the world on them.

    Raises NotRecoveredError if a file system does not recover, or does not let the files that lie apart be found.
    """
    for disk, image in zip(disks, cut.images, strict=True):
        disk.set(stage.models[stage.life.first_arm].unlimited(), floor_ns=0)
        disk.restore(image.path)
    world = disks[0].mount_point / "world"
    try:
        for other in disks[1:]:
            place_apart(world, stage.names_apart, other.mount_point)
    except OSError as error:
        raise device.NotRecoveredError(f"the files on the other disk cannot be used: {error}") from error
    return world


def _start(
    stage: Stage,
    disks: Sequence[device.MountedDevice],
    world: Path,
    port: int,
    fast: Path,
    logs: Path,
    blocks: Sequence[Position],
) -> Recovered:
    """Starts the server on a world, and lets players look at the positions of blocks."""
    require_free(port)  # A port that is taken is no damage of the world.
    try:
        running = stage.server.start(
            world, port=port, folder=fast, logs=logs, save_period_s=stage.save_period_s, settings=stage.settings
        )
    except (TickdiskError, OSError) as error:  # Files of a damaged world may not be readable.
        return _failed(CutOutcome.NOT_STARTED, str(error))
    try:
        for disk, pid in product(disks, running.pids):
            disk.add_user(pid)
        return _look(stage, running, fast, logs, blocks)
    finally:
        running.kill()


def _look(stage: Stage, running: RunningServer, fast: Path, logs: Path, blocks: Sequence[Position]) -> Recovered:
    """Lets players join and look at the positions of blocks. If there is none, they look at the origin.

    Other players look once more where a look was not answered.
    """
    actions = _visit(stage, running, fast, logs, blocks or [(0, 0, 0)], 0)
    if actions is None:
        return _failed(CutOutcome.ENDED, running.last_words())
    joins = [_joins(actions)]
    if (joins[0]["outcome"] != "completed").all():
        return _failed(CutOutcome.NO_PLAYER, f"{_absent(joins[0])}; last words of the server: {running.last_words()}")
    looks = player.looks(actions)[_COLUMNS]
    if unanswered := _positions(looks[looks["seen"].isna()]):
        actions = _visit(stage, running, fast, logs, unanswered, 1)
        if actions is None:
            return _failed(CutOutcome.ENDED, running.last_words())
        joins.append(_joins(actions))
        looks = pd.concat([looks.dropna(subset=["seen"]), player.looks(actions)[_COLUMNS]])
    joined = pd.concat(joins)
    return Recovered(CutOutcome.OPENED, _absent(joined), looks, int((joined["outcome"] != "completed").sum()))


def _visit(
    stage: Stage, running: RunningServer, fast: Path, logs: Path, blocks: Sequence[Position], turn: int
) -> pd.DataFrame | None:
    """Lets players join, look and leave, and returns their actions, or None if the server has ended by itself.

    In each `turn`, from 0, they are others. Raises TickdiskError if the clients fail.
    """
    out = fast / f"looks_{turn}"
    out.mkdir()
    trace = out / "looks.jsonl"
    events = player.look_around(
        blocks, players=_LOOKERS, period_s=_LOOK_PERIOD_S, join_period_s=_JOIN_PERIOD_S, first=turn * _LOOKERS
    )
    player.write_trace(trace, events)
    started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
    address = f"127.0.0.1:{running.facts.port}"
    with player.start_players(stage.server.clients, address, trace, started_ns, out, logs / f"looks_{turn}") as players:
        end_s = time.monotonic() + _LEAD_S + events[-1].due_ns / 1e9 + _PATIENCE_S
        while players.wait(_CHECK_S) is None and time.monotonic() < end_s and running.alive():
            continue
        if players.poll() is None:
            players.stop(_STOP_S)
    # A server that has ended answers no look, and its end is the outcome, whatever the clients have written.
    return player.read_actions(out / player.ACTIONS, expected=len(events)) if running.alive() else None


def _joins(actions: pd.DataFrame) -> pd.DataFrame:
    return actions[actions["action"] == "join"]


def _absent(joins: pd.DataFrame) -> str:
    """Returns a clause for each player who could not join."""
    failed = joins.loc[joins["outcome"] != "completed", ["player", "outcome", "detail"]]
    return "; ".join(f"{name} could not join ({outcome}: {why})" for name, outcome, why in failed.itertuples(index=False))


def _failed(outcome: CutOutcome, detail: str) -> Recovered:
    return Recovered(outcome, detail, pd.DataFrame(columns=_COLUMNS))
