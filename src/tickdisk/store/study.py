"""The study of the store: the models against the real, and every algorithm on games of several sizes and devices."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import device
from tickdisk.checkpoint import State
from tickdisk.errors import TickdiskError
from tickdisk.files import whole
from tickdisk.store.compare import Comparison, compare, read_comparison, write_comparison
from tickdisk.store.life import ALGORITHMS
from tickdisk.store.trial import Design, trials

_SPARE_BYTES, _PAGE_BYTES = 1 << 30, 4096


@dataclass(frozen=True)
class Game:
    """A game that all algorithms are tried on."""

    name: str
    rows: int
    updates_per_tick: int
    skew: float
    save_s: float
    device: device.DeviceModel


@dataclass(frozen=True)
class Findings:
    """What the study found."""

    comparison: Comparison
    games: pd.DataFrame
    """Trials (see `trials`), with game, state_bytes, skew, device, tick_hz."""


def room_bytes(state: State, *, full_every: int = Design.full_every) -> int:
    """Returns the size of a device that a store of `state` fits on, with its log of actions: a partial log goes back to the last
    full checkpoint but one, and may be whole in every checkpoint since. What is not written takes no memory.
    """
    size_bytes = (2 * full_every + 2) * state.objects * state.object_bytes + _SPARE_BYTES
    return -(-size_bytes // _PAGE_BYTES) * _PAGE_BYTES


def check_room(rows: Sequence[int]) -> None:
    """Raises TickdiskError where a device for a state of one of `rows` does not fit into the memory that is free now."""
    device.check_memory(max(room_bytes(State(rows=each)) for each in rows))


def study(
    design: Design,
    disk: device.DeviceModel,
    *,
    fit_rates: Sequence[int],
    games: Sequence[Game],
    say: Callable[[str], None],
) -> Findings:
    """Returns the comparison of `design` on an emulated `disk`, and trials of every algorithm on each game, on devices of their
    own.

    `design.folder` is not used. TickdiskError at once where a game's device does not fit into memory.
    """
    check_room([design.state.rows, *(game.rows for game in games)])
    with device.up(disk, size_bytes=room_bytes(design.state)) as mounted:
        # As the paper's framework has its updates, and as its model counts them.
        singly = replace(design, folder=mounted.mount_point, one_by_one=True)
        comparison = compare(singly, fit_rates=fit_rates, say=say)
    tables = []
    for game in games:
        state = State(rows=game.rows)
        own = replace(design, state=state, rates=[game.updates_per_tick], skew=game.skew, algorithms=ALGORITHMS)
        own = replace(own, one_by_one=False, save_s=game.save_s, rest_s=game.save_s / 3)
        with device.up(game.device, size_bytes=room_bytes(state)) as mounted:
            found = trials(replace(own, folder=mounted.mount_point), say)
        described: dict[str, Any] = {
            "game": game.name,
            "state_bytes": state.objects * state.object_bytes,
            "skew": game.skew,
            "device": game.device.name,
            "tick_hz": own.tick_hz,
        }
        tables.append(found.assign(**described))
    return Findings(comparison, pd.concat(tables, ignore_index=True))


def write_study(found: Findings, folder: Path) -> None:
    """Writes the tables, each whole or not at all; `calibrated.json` last."""
    folder.mkdir(parents=True, exist_ok=True)
    with whole(folder / "games.parquet") as partial:
        found.games.to_parquet(partial)
    write_comparison(found.comparison, folder)


def read_study(folder: Path) -> Findings:
    """Returns what is in a folder; TickdiskError names what is missing."""
    path = folder / "games.parquet"
    if not path.exists():
        raise TickdiskError(f"{path} is missing; run `tickdisk checkpoint study`")
    return Findings(read_comparison(folder), pd.read_parquet(path))
