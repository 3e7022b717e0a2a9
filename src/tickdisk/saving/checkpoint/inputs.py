"""Inputs of the simulator, which say which cells each tick updates."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk._native import Updates
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.storing import counted
from tickdisk.saving.checkpoint.game import ATTRIBUTES, UNITS
from tickdisk.saving.checkpoint.model import State

_PAGE_BYTES = 512
"""Size of an object in the trace of a captured life: the smallest unit that a device writes."""
_FORM = "give a Parquet or .npz file with the columns tick and cell"
_MOST_CELLS = (1 << 32) - 1
"""The simulator numbers cells with 32 bits."""
_LAST_TICK, _MOST_TICKS = 10**9, 10**8
"""At 30 ticks per second, a game runs for a year until the first, and the second is 38 days. Times in s since 1970 are later."""


class Input(Protocol):
    """An input of `simulate`, which says which cells of a state a game updates in one tick after another."""

    @property
    def state(self) -> State:
        """State to which the updates apply."""
        ...

    def open(self) -> Updates:
        """Returns a new source of the updates for the native core, which begins with the first tick."""
        ...


@dataclass(frozen=True)
class ZipfTrace:
    """An input of random updates without an end.

    Row and column of each update are drawn independently from Zipf distributions with the same skew, as in Gray et al., SIGMOD
    1994.
    """

    updates_per_tick: int = 64_000
    skew: float = 0.8
    """Skew of both distributions, at least 0 (uniform) and below 1."""
    seed: int = 42
    is_scrambled: bool = False
    """Whether rows of neighbouring ranks lie far from each other in the state. Otherwise the rank of a row is its index."""
    by_column: bool = False
    """Whether the cells of a column lie together in the state. Otherwise the cells of a row lie together."""
    state: State = field(default_factory=State)

    def open(self) -> Updates:
        """Returns a new source of these updates, which begins with the first tick."""
        rows, columns = self.state.rows, self.state.columns
        return Updates.zipf(rows, columns, self.skew, self.updates_per_tick, self.is_scrambled, self.by_column, self.seed)


@dataclass(frozen=True)
class GameTrace:
    """An input of the updates in a game of `KnightsAndArchers`, without an end. The table of the game's units is the state."""

    seed: int = 42
    units: int = UNITS
    """Number of units, a multiple of 128."""

    @property
    def state(self) -> State:
        """Table of the units, with one row per unit and one column per attribute."""
        return State(rows=self.units, columns=len(ATTRIBUTES))

    def open(self) -> Updates:
        """Returns a new source of these updates, which begins with the first tick."""
        return Updates.knights_and_archers(self.units, self.seed)


@dataclass(frozen=True)
class RecordedTrace:
    """An input of recorded updates, as `load_trace` and `trace_of_life` return it. It ends with its last tick."""

    state: State
    counts: npt.NDArray[np.uint32]
    """Number of updates of each tick, shape (ticks,)."""
    cells: npt.NDArray[np.uint32]
    """Numbers of the updated cells, tick after tick, shape (updates,)."""
    stored: Mapping[str, int] = field(default_factory=dict)
    """Number of captured writes that asked for more than the page cache, by what they asked for."""

    def open(self) -> Updates:
        """Returns a new source of these updates, which begins with the first tick."""
        counts = [int(count) for count in self.counts]
        return Updates.recorded(self.state.rows * self.state.columns, counts, self.cells.astype("<u4").tobytes())


def load_trace(path: Path, state: State | None = None) -> RecordedTrace:
    """Reads recorded updates from a Parquet or .npz file with the columns `tick` and `cell`, one row per update.

    The rows may be in any order of ticks. The trace begins with the smallest tick, and a tick without a row has no updates. If
    `state` is None, the state has one column, and the highest cell is the last. Raises TickdiskError if the file does not exist
    or has another form, or if a cell lies outside of the state.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                columns = {name: np.asarray(arrays[name]) for name in ("tick", "cell")}
        else:
            frame = table.read_columns(path, ("tick", "cell"), _FORM, others=False)
            columns = {name: frame[name].to_numpy() for name in ("tick", "cell")}
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; {_FORM}") from error
    except (KeyError, ValueError, OSError, EOFError, BadZipFile) as error:
        raise TickdiskError(
            f"{path}: not an .npz file with the arrays tick and cell, or a damaged one ({error}); {_FORM}"
        ) from error
    except MemoryError as error:
        raise TickdiskError(f"{path}: its arrays are larger than the memory; {_FORM}") from error
    ticks, cells = columns["tick"], columns["cell"]
    shaped = ticks.ndim == 1 and ticks.shape == cells.shape and ticks.size > 0
    if not shaped or ticks.dtype.kind not in "iu" or cells.dtype.kind not in "iu":
        raise TickdiskError(
            f"{path}: the columns tick and cell must be whole numbers, of the same length and not empty; correct the file"
        )
    _check_ticks(str(path), int(ticks.min()), int(ticks.max()))
    _check_cells(str(path), int(cells.min()), int(cells.max()), state)
    return _recorded(ticks.astype(np.int64), cells.astype(np.int64), state)


def trace_of_life(folder: Path) -> RecordedTrace:
    """Returns the writes of a captured server life as updates of pages of 512 bytes, to simulate checkpoints of a real server.

    A page is an object of one cell. Pages are numbered by file and offset. A write belongs to the tick during which it was
    issued, and writes before the first tick are left out. The folder of the life has `requests.parquet` and `ticks.parquet`.
    Raises TickdiskError if no write of a file during a tick was captured.
    """
    requests, ticks = table.read("requests", folder / "requests.parquet"), table.read("ticks", folder / "ticks.parquet")
    starts = np.sort(ticks["start_ns"].to_numpy(np.int64))
    wrote = requests[(requests["op"] == "write") & (requests["level"] == "syscall")].dropna(subset=["file", "offset"])
    wrote = wrote[(wrote["result"] > 0) & (wrote["start_ns"] >= starts[0])] if len(starts) else wrote.iloc[:0]
    if wrote.empty:
        raise TickdiskError(
            f"{folder}: no write of a file during a tick was captured; choose a captured life (inside_tick, accesses)"
        )
    offsets = wrote["offset"].to_numpy(np.int64)
    first = offsets // _PAGE_BYTES
    pages = (offsets + wrote["result"].to_numpy(np.int64) - 1) // _PAGE_BYTES - first + 1
    within = np.arange(pages.sum()) - np.repeat(np.cumsum(pages) - pages, pages)
    keys = pd.DataFrame({"file": np.repeat(wrote["file"].to_numpy(str), pages), "page": np.repeat(first, pages) + within})
    numbered = np.asarray(keys.groupby(["file", "page"]).ngroup(), dtype=np.int64)
    tick_of = np.searchsorted(starts, wrote["start_ns"].to_numpy(np.int64), side="right") - 1
    state = State(rows=int(numbered.max()) + 1, columns=1, cell_bytes=_PAGE_BYTES, object_bytes=_PAGE_BYTES)
    recorded = _recorded(np.repeat(tick_of, pages).astype(np.int64), numbered, state)
    return replace(recorded, stored=counted(wrote["storing"]))


def _check_ticks(where: str, first: int, last: int) -> None:
    """Raises TickdiskError if ticks are rather times, for which the simulator would need the memory of as many ticks."""
    if first < 0 or last > _LAST_TICK or last - first > _MOST_TICKS:
        raise TickdiskError(
            f"{where}: ticks {first} to {last} look like times, but ticks are numbers that count from 0, at most {_MOST_TICKS} "
            "of them; give the number of the tick in which each update was made"
        )


def _check_cells(where: str, first: int, last: int, state: State | None) -> None:
    """Raises TickdiskError if a cell lies outside of the state, or if the state has more cells than the simulator can number."""
    cells = last + 1 if state is None else state.rows * state.columns
    if cells > _MOST_CELLS:
        raise TickdiskError(f"{where}: a state of {cells:,} cells is too large, as cells are 0 to {_MOST_CELLS - 1}; give fewer")
    if first < 0 or last >= cells:
        raise TickdiskError(
            f"{where}: cells are 0 to {cells - 1}, but there is cell {last} or a negative cell; give the state's size"
        )


def _recorded(ticks: npt.NDArray[np.int64], cells: npt.NDArray[np.int64], state: State | None) -> RecordedTrace:
    state = state or State(rows=int(cells.max()) + 1, columns=1)
    order = np.argsort(ticks, kind="stable")
    counts = np.bincount(ticks - ticks.min())
    return RecordedTrace(state, counts.astype(np.uint32), cells[order].astype(np.uint32))
