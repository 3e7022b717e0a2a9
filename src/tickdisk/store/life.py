"""Lives of a store: ticks at their rate, checkpoints as fast as they come, in a process of their own."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from tickdisk import checkpoint, process
from tickdisk.checkpoint import ZipfTrace
from tickdisk.errors import TickdiskError
from tickdisk.store.recovery import Refused

LATER = ("zigzag", "ping_pong", "calc", "hourglass", "piggyback", "fork")
"""Cao et al., SIGMOD 2011; Ren et al., SIGMOD 2016; Li et al., arXiv 1810.04915; fork(2)."""
ALGORITHMS: tuple[str, ...] = (*checkpoint.ALGORITHMS, *LATER)
"""In the order of the native core."""
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
    """A life: which algorithm, in which folder, fed with what, for how long."""

    algorithm: str
    folder: Path
    updates: ZipfTrace = field(default_factory=ZipfTrace)
    ticks: int = 300
    tick_hz: float = 30
    """Ticks per second; 0: as fast as they go."""
    spins: bool = False
    """Whether the game's thread spins until the next tick, instead of sleeping."""
    one_by_one: bool = False
    """Whether every update is handed to the store by itself, as the paper's framework has it, and not all of a tick at once."""
    queries: int = 0
    """Cells that the game only looks at in each tick."""
    full_every: int = 10
    """Of a partial log every so many checkpoints is a full one."""
    has_checkpoints: bool = True
    save_ticks: int = 0
    """Checkpoints begin in so many ticks,"""
    rest_ticks: int = 0
    """and in so many none, in turn; 0 and 0: in all."""
    save_from: int = 0
    """Such a cycle begins with this tick, counted from 0."""
    has_shadow: bool = False
    """Whether every tick is also played on a state that no algorithm keeps: what the updates take by themselves at that
    moment.
    """

    @property
    def cells(self) -> int:
        """Cells of the state."""
        return self.updates.state.rows * self.updates.state.columns

    def as_json(self, board: Path | None) -> dict[str, Any]:
        """Returns what `child.py` reads."""
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


@dataclass(frozen=True)
class Life:
    """What a life was like."""

    setting: Setting
    found: int
    """The tick that the world was found at."""
    last: int
    ticks: pd.DataFrame
    """A row a tick: tick, begin_ns, update_ns (updates with what the algorithm adds to them), log_ns, pause_ns, shadow_ns (the
    same updates on the shadow)."""
    checkpoints: pd.DataFrame
    """A row a finished checkpoint: number, tick, begin_ns, pause_ns, copied and written objects, is_full, write_ns, sync_ns,
    switch_ns, end_ns."""
    memory_bytes: int
    """The most that the process has had."""


def index_of(algorithm: str) -> int:
    """Returns the native core's number of an algorithm; TickdiskError when there is none of that name."""
    if algorithm not in ALGORITHMS:
        raise TickdiskError(f"there is no checkpoint algorithm {algorithm}; take one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS.index(algorithm)


@contextmanager
def started(setting: Setting, scratch: Path, *, board: Path | None = None, result: Path | None = None) -> Iterator[Popen[bytes]]:
    """Yields the process of a life, which is killed at the end if it still runs."""
    path = scratch / "setting.json"
    path.write_text(json.dumps(setting.as_json(board)), encoding="utf-8")
    command: list[str | Path] = [sys.executable, _CHILD, path, *([] if result is None else [result])]
    # S603: the program is this package's own; PLW1509: the kernel must know before it runs.
    with Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, preexec_fn=process.die_with_parent) as child:  # noqa: S603, PLW1509
        try:
            yield child
        finally:
            child.kill()


def live(setting: Setting) -> Life:
    """Plays a life to its end and returns what it was like; TickdiskError when the folder is refused or cannot be written."""
    setting.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="tickdisk-life-") as scratch:
        result = Path(scratch) / "result.json"
        with started(setting, Path(scratch), result=result) as child:
            _, errors = child.communicate()
            if child.returncode != 0:
                raise failure(setting, errors)
        found = json.loads(result.read_text(encoding="utf-8"))
    return Life(
        setting=setting,
        found=found["found"],
        last=found["last"],
        ticks=_table(found["ticks"], _TICKS),
        checkpoints=_table(found["checkpoints"], _CHECKPOINTS),
        memory_bytes=found["memory"],
    )


def failure(setting: Setting, errors: bytes) -> TickdiskError:
    """Returns what to raise for a life that ended by itself: Refused where its folder was."""
    last = "".join(errors.decode(errors="replace").strip().splitlines()[-1:]) or "the life was killed"
    kind, _, words = last.partition(": ")
    if kind == "ValueError":
        return Refused(words)
    return TickdiskError(f"{setting.folder}, algorithm {setting.algorithm}: {words if kind == 'OSError' else last}")


def _table(packed: str, names: tuple[str, ...]) -> pd.DataFrame:
    values = np.frombuffer(bytes.fromhex(packed), dtype="<u8").reshape(-1, len(names)).astype(np.int64)
    return pd.DataFrame(values, columns=list(names))
