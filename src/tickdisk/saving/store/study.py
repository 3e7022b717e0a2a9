"""The study of the store on emulated devices: the cost models against the real algorithms, and all twelve algorithms on games."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import device
from tickdisk.foundation import table
from tickdisk.saving.checkpoint import State
from tickdisk.saving.store.compare import ModelComparison, compare, read_comparison, write_comparison
from tickdisk.saving.store.life import ALGORITHMS
from tickdisk.saving.store.trial import TrialDesign, trials

_SPARE_BYTES, _PAGE_BYTES = 1 << 30, 4096
_TABLES = {
    "games": "game state_bytes skew device tick_hz rate life algorithm added_ms longest_ms checkpoint_s recovery_s bytes "
    "memory_bytes"
}


@dataclass(frozen=True)
class Game:
    """A game of the study, on which all twelve algorithms are tried: a state, its random updates, and a disk."""

    name: str
    rows: int
    """Size of the state in rows of ten cells of 4 bytes."""
    updates_per_tick: int
    skew: float
    """Skew of the Zipf distribution of the updates."""
    save_s: float
    """Time in which checkpoints begin, before each rest (see `TrialDesign`)."""
    device: device.DeviceModel


@dataclass(frozen=True)
class StoreFindings:
    """The results of the study of the store."""

    comparison: ModelComparison
    games: pd.DataFrame
    """Trials on the games, as `trials` returns them, with the further columns game, state_bytes, skew, device and tick_hz."""


def device_bytes(state: State, *, full_every: int = TrialDesign.full_every) -> int:
    """Returns the size of an emulated device that is large enough for a store with its log of actions, a multiple of 4096 bytes.

    A partial log reaches back to the full checkpoint before the last one, and every checkpoint since may contain the whole state.
    An emulated device uses memory only for the parts that are written.
    """
    size_bytes = (2 * full_every + 2) * state.objects * state.object_bytes + _SPARE_BYTES
    return -(-size_bytes // _PAGE_BYTES) * _PAGE_BYTES


def check_device_memory(rows: Sequence[int], *, full_every: int = TrialDesign.full_every) -> None:
    """Raises TickdiskError if the emulated device for the largest state, in rows, does not fit into the memory that is free now.

    Each state has a device of its own, and only the largest matters.
    """
    device.check_memory(max(device_bytes(State(rows=each), full_every=full_every) for each in rows))


def study(
    design: TrialDesign,
    disk: device.DeviceModel,
    *,
    fit_rates: Sequence[int],
    games: Sequence[Game],
    say: Callable[[str], None],
) -> StoreFindings:
    """Compares the cost models with the real algorithms on one device, and tries every algorithm on each game.

    `design` has the lives of the comparison, whose updates are handed over one by one. Its folder is not used. The lives of the
    games take their length from it, and get all updates of a tick at once. `fit_rates` are in updates per tick, and `say` is
    given a line after each life. Raises TickdiskError if a device does not fit into memory, which is found before the first life,
    or if a life fails.
    """
    full_every = design.full_every
    check_device_memory([design.state.rows, *(game.rows for game in games)], full_every=full_every)
    with device.up(disk, size_bytes=device_bytes(design.state, full_every=full_every)) as mounted:
        # The paper's framework hands updates over one by one, and its model counts them so.
        singly = replace(design, folder=mounted.mount_point, one_by_one=True)
        comparison = compare(singly, fit_rates=fit_rates, say=say)
    tables = []
    for game in games:
        state = State(rows=game.rows)
        own = replace(design, state=state, rates=[game.updates_per_tick], skew=game.skew, algorithms=ALGORITHMS)
        own = replace(own, one_by_one=False, save_s=game.save_s, rest_s=game.save_s / 3)
        with device.up(game.device, size_bytes=device_bytes(state, full_every=full_every)) as mounted:
            lives = trials(replace(own, folder=mounted.mount_point), say)
        described: dict[str, Any] = {
            "game": game.name,
            "state_bytes": state.objects * state.object_bytes,
            "skew": game.skew,
            "device": game.device.name,
            "tick_hz": own.tick_hz,
        }
        tables.append(lives.assign(**described))
    return StoreFindings(comparison, pd.concat(tables, ignore_index=True))


def write_study(findings: StoreFindings, folder: Path) -> None:
    """Writes `games.parquet` and the files of `write_comparison`, with `calibrated.json` at last, each only when it is whole."""
    table.write_tables(folder, {"games": findings.games})
    write_comparison(findings.comparison, folder)


def read_study(folder: Path) -> StoreFindings:
    """Reads results that `write_study` wrote. Raises TickdiskError if a file is missing, or has other columns."""
    return StoreFindings(read_comparison(folder), **table.read_tables(folder, _TABLES, "run `tickdisk checkpoint study`"))
