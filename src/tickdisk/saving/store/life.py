"""Lives of a store: each is a process that plays ticks at their rate and makes one checkpoint after another.

A life begins with the state that it finds in the store's folder, or with a new state if the folder is empty.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import numpy as np
import pandas as pd

from tickdisk.foundation import process, record, temporary
from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving import checkpoint
from tickdisk.saving.checkpoint import ZipfTrace
from tickdisk.saving.store.child import REFUSED
from tickdisk.saving.store.recovery import StoreRefused

LATER_ALGORITHMS = ("zigzag", "ping_pong", "calc", "hourglass", "piggyback", "fork")
"""The six later algorithms. Zigzag and Ping-Pong are by Cao et al. (SIGMOD 2011), CALC is by Ren et al. (SIGMOD 2016), Hourglass
and Piggyback are by Li et al. (arXiv 1810.04915), and fork uses the system call fork(2).
"""
ALGORITHMS: tuple[str, ...] = (*checkpoint.ALGORITHMS, *LATER_ALGORITHMS)
"""All twelve algorithms, in the order in which the native core numbers them."""
_CHILD = Path(__file__).with_name("child.py")
_TICKS = ("tick", "begin_ns", "update_ns", "log_ns", "pause_ns", "shadow_ns")
_CHECKPOINTS = (
    "number",
    "tick",
    "begin_ns",
    "pause_ns",
    "copied",
    "is_full",
    "objects",
    "write_ns",
    "sync_ns",
    "switch_ns",
    "end_ns",
)


@dataclass(frozen=True)
class Setting:
    """The parameters of a life."""

    algorithm: str
    folder: Path
    """Folder of the store. If it holds a state already, the life goes on from there."""
    updates: ZipfTrace = field(default_factory=ZipfTrace)
    """Random updates of the ticks, which also have the size of the state."""
    ticks: int = 300
    tick_hz: float = 30
    """Ticks per second. If 0, each tick begins as soon as the tick before it has ended."""
    spins: bool = False
    """Whether the game's thread spins until the next tick instead of sleeping."""
    one_by_one: bool = False
    """Whether each update is handed to the store by itself, as in the paper's framework, or all updates of a tick at once."""
    queries: int = 0
    """Number of cells that the game only reads in each tick."""
    full_every: int = 10
    """Number of checkpoints per full one, for the two algorithms that write a partial log. The first of a life is full."""
    has_checkpoints: bool = True
    save_ticks: int = 0
    """Length of the part of a cycle in which checkpoints begin, in ticks."""
    rest_ticks: int = 0
    """Length of the rest that follows, in which no checkpoint begins, in ticks. If 0, checkpoints begin at any time."""
    save_from: int = 0
    """A tick with which a cycle of saving and rest begins, counted from 0. The ticks before it belong to earlier cycles."""
    has_shadow: bool = False
    """Whether each tick is also played on a shadow, a state that no algorithm keeps, to time the updates themselves."""

    @property
    def cells(self) -> int:
        """Number of cells of the state, which is cut into objects of 128 cells."""
        return self.updates.state.rows * self.updates.state.columns

    def as_json(self, board: Path | None) -> dict[str, Any]:
        """Returns the parameters as `child.py` reads them. `board` is a file for the phases of the life, or None."""
        trace = self.updates
        zipf = (trace.state.rows, trace.state.columns, trace.skew, trace.updates_per_tick, trace.is_scrambled, trace.by_column)
        return {
            "folder": str(self.folder),
            "algorithm": index_of(self.algorithm),
            "updates": ["zipf", *zipf, trace.seed],
            "ticks": self.ticks,
            "tick_ns": round(1e9 / self.tick_hz) if self.tick_hz else 0,
            "spins": self.spins,
            "at_once": 1 if self.one_by_one else 0,
            "queries": self.queries,
            "full_every": self.full_every,
            "has_checkpoints": self.has_checkpoints,
            "save_from": self.save_from,
            "save_ticks": self.save_ticks,
            "rest_ticks": self.rest_ticks,
            "has_shadow": self.has_shadow,
            "board": None if board is None else str(board),
        }


class Played(record.Record):
    """The result that the process of a life writes at its end, for `live`."""

    found: int
    """The last tick of the state that was found in the folder."""
    last: int
    """The last tick that was played."""
    ticks: str
    checkpoints: str
    """The packed tables of ticks and checkpoints, as hexadecimal digits."""
    memory: int
    """The highest memory of the process in bytes."""


@dataclass(frozen=True)
class StoreLife:
    """The record of a life of a store that has ended."""

    setting: Setting
    found: int
    """The last tick in the state that the life began with, or 0 for a new state."""
    last: int
    ticks: pd.DataFrame
    """One row per tick: tick, begin_ns (CLOCK_MONOTONIC), update_ns (time of the updates with the work that the algorithm adds to
    them), log_ns (time to hand them to the log of actions), pause_ns (time to begin a checkpoint) and shadow_ns (time of the same
    updates on the shadow).
    """
    checkpoints: pd.DataFrame
    """One row per finished checkpoint: number, tick (at whose end it begins), begin_ns, pause_ns, copied (number of objects
    copied in memory), is_full, objects (number written), write_ns, sync_ns, switch_ns (times of the writer's three phases) and
    end_ns.
    """
    memory_bytes: int


def index_of(algorithm: str) -> int:
    """Returns the number of an algorithm in the native core. Raises TickdiskError if there is no algorithm of that name."""
    if algorithm not in ALGORITHMS:
        raise TickdiskError(f"there is no checkpoint algorithm {algorithm}; take one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS.index(algorithm)


@contextmanager
def started(setting: Setting, scratch: Path, *, board: Path | None = None, result: Path | None = None) -> Iterator[Popen[bytes]]:
    """Starts the process of a life, and kills it at the end if it still runs.

    The folder of the life must exist. The file with the parameters is written to `scratch`. The process keeps its phases, its
    running tick and its last committed tick in the file `board`, and writes its record to the file `result` at the end. Either
    can be None. Raises TickdiskError if the algorithm has no known name.
    """
    path = scratch / "setting.json"
    path.write_text(json.dumps(setting.as_json(board)), encoding="utf-8")
    command: list[str | Path] = [sys.executable, _CHILD, path, *([] if result is None else [result])]
    # S603: the program belongs to this package. PLW1509: the kernel must be told before the program runs.
    with Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, preexec_fn=process.die_with_parent) as child:  # noqa: S603, PLW1509
        try:
            yield child
        finally:
            child.kill()


def live(setting: Setting) -> StoreLife:
    """Plays a life of a store to its end in a process of its own, and records every tick and every checkpoint.

    The folder of the life is created if it does not exist, and keeps the state at the end. Raises StoreRefused if the folder
    holds a state that is damaged or has another size, and TickdiskError if there is no such algorithm or the folder cannot be
    written.
    """
    setting.folder.mkdir(parents=True, exist_ok=True)
    with temporary.folder() as scratch:
        result = scratch / "result.json"
        with started(setting, scratch, result=result) as child:
            _, errors = child.communicate()
            if child.returncode != 0:
                raise failure(setting, child.returncode, errors)
        played = record.read(Played, result)
    return StoreLife(
        setting=setting,
        found=played.found,
        last=played.last,
        ticks=_table(played.ticks, _TICKS),
        checkpoints=_table(played.checkpoints, _CHECKPOINTS),
        memory_bytes=played.memory,
    )


def failure(setting: Setting, code: int | None, errors: bytes) -> TickdiskError:
    """Returns the error to raise for a life that ended by itself, which is StoreRefused if the folder was refused.

    `code` is the exit code of the life, and `errors` is what it wrote as errors.
    """
    last = "".join(errors.decode(errors="replace").strip().splitlines()[-1:]) or "the life was killed"
    return StoreRefused(last) if code == REFUSED else TickdiskError(f"{setting.folder}, algorithm {setting.algorithm}: {last}")


def _table(packed: str, names: tuple[str, ...]) -> pd.DataFrame:
    values = np.frombuffer(bytes.fromhex(packed), dtype="<u8").reshape(-1, len(names)).astype(np.int64)
    return pd.DataFrame(values, columns=list(names))
