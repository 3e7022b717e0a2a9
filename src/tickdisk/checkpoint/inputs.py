"""Inputs of the simulator: which cells each tick updates, made up, played, recorded, or captured from a live server."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from tickdisk import table
from tickdisk._native import Updates
from tickdisk.checkpoint.game import ATTRIBUTES, UNITS
from tickdisk.checkpoint.model import State
from tickdisk.errors import TickdiskError

_PAGE_BYTES = 512
"""Of a captured life the atomic object is what the device writes at least."""


class Input(Protocol):
    """Anything that gives the updates of tick after tick."""

    @property
    def state(self) -> State:
        """The state that is updated."""
        ...

    def open(self) -> Updates:
        """Returns the updates from the first tick on."""
        ...


@dataclass(frozen=True)
class ZipfTrace:
    """Row and column of every update drawn independently from Zipf distributions of one skew (Gray et al., SIGMOD 1994)."""

    updates_per_tick: int = 64_000
    skew: float = 0.8
    seed: int = 42
    is_scrambled: bool = False
    """Whether the rows of neighbouring ranks lie far from each other; else the rank is the index."""
    by_column: bool = False
    """Whether the cells of a column lie together in the state; else those of a row."""
    state: State = field(default_factory=State)

    def open(self) -> Updates:
        """Returns the updates from the first tick on."""
        rows, columns = self.state.rows, self.state.columns
        return Updates.zipf(rows, columns, self.skew, self.updates_per_tick, self.is_scrambled, self.by_column, self.seed)


@dataclass(frozen=True)
class GameTrace:
    """The updates of a game of Knights and Archers; its table of units is the state."""

    seed: int = 42
    units: int = UNITS

    @property
    def state(self) -> State:
        """A row a unit, a column an attribute."""
        return State(rows=self.units, columns=len(ATTRIBUTES))

    def open(self) -> Updates:
        """Returns the updates from the first tick on."""
        return Updates.knights_and_archers(self.units, self.seed)


@dataclass(frozen=True)
class RecordedTrace:
    """Updates that were recorded: how many each tick has, and their cells in order."""

    state: State
    counts: npt.NDArray[np.uint32]
    cells: npt.NDArray[np.uint32]

    def open(self) -> Updates:
        """Returns the updates from the first tick on."""
        counts = [int(count) for count in self.counts]
        return Updates.recorded(self.state.rows * self.state.columns, counts, self.cells.astype("<u4").tobytes())


def load_trace(path: Path, state: State | None = None) -> RecordedTrace:
    """Returns the updates in a Parquet or .npz file of `tick` and `cell`, one row an update, in any order of ticks.

    Ticks are counted from the first; one without a row has no updates. Without a state there are as many cells as the highest
    one asks for. TickdiskError names the file and what does not fit.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                columns = {name: np.asarray(arrays[name]) for name in ("tick", "cell")}
        else:
            frame = pd.read_parquet(path, columns=["tick", "cell"])
            columns = {name: frame[name].to_numpy() for name in ("tick", "cell")}
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; give a Parquet or .npz file with the columns tick and cell") from error
    except (KeyError, ValueError, OSError, BadZipFile, pa.ArrowException) as error:
        raise TickdiskError(f"{path}: not a Parquet or .npz file with the columns tick and cell ({error}); convert it") from error
    ticks, cells = columns["tick"], columns["cell"]
    shaped = ticks.ndim == 1 and ticks.shape == cells.shape and ticks.size > 0
    if not shaped or ticks.dtype.kind not in "iu" or cells.dtype.kind not in "iu":
        raise TickdiskError(
            f"{path}: tick and cell are whole numbers, as many of one as of the other and at least one; correct it"
        )
    return _recorded(str(path), ticks.astype(np.int64), cells.astype(np.int64), state)


def trace_of_life(folder: Path) -> RecordedTrace:
    """Returns what a captured life of the live server wrote to its files, as updates of pages of 512 bytes, tick by tick.

    `folder` is a life of a run folder with `requests.parquet` and `ticks.parquet`. A page is an object of one cell, numbered by
    file and offset; a write belongs to the tick during which it was issued. TickdiskError when nothing was written.
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
    return _recorded(str(folder), np.repeat(tick_of, pages).astype(np.int64), numbered, state)


def _recorded(where: str, ticks: npt.NDArray[np.int64], cells: npt.NDArray[np.int64], state: State | None) -> RecordedTrace:
    state = state or State(rows=int(cells.max()) + 1, columns=1)
    limit = min(state.rows * state.columns, 2**32)
    if cells.min() < 0 or cells.max() >= limit:
        raise TickdiskError(
            f"{where}: cells are 0 to {limit - 1} and there is {cells.max()} or one below 0; give the state's size"
        )
    order = np.argsort(ticks, kind="stable")
    counts = np.bincount(ticks - ticks.min())
    return RecordedTrace(state, counts.astype(np.uint32), cells[order].astype(np.uint32))
